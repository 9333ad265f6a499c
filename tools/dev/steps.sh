# What the steps of a gate cost. Sourced by ./dev, in the folder of the checkout.

noted_cpu=0 noted_at=0

# took STEP: says what the commands since the last call took, and adds it to
# build/log/steps: the step, seconds of a clock, seconds of all processors, and how
# fast the machine was (tools/step_budgets.py).
took() {
  local stat cpu seconds=$((SECONDS - noted_at))
  read -ra stat </proc/$$/stat
  cpu=$(((stat[15] + stat[16]) / $(getconf CLK_TCK)))
  mkdir -p build/log
  echo "$1,$seconds,$((cpu - noted_cpu)),$(python3 tools/step_budgets.py --machine)" \
    >>build/log/steps
  echo "$1 took $seconds s, $((cpu - noted_cpu)) s of all processors together"
  noted_at=$SECONDS noted_cpu=$cpu
}
