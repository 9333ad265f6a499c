# Runs the tests. Sourced by ./dev, in the folder of the checkout.

# run_tests [--sanitize] [--all]: runs all tests, even if some fail; a failed
# build ends it.
run_tests() {
  local sanitize= without=slow status=0 results=()
  # Tests to repeat without oneDNN: whole networks; with --all, all tests that
  # do not build anything themselves.
  local again=(-R 'Training|NetworkGradients|^python.test_(layers|training)')
  while [ $# -gt 0 ]; do
    case $1 in
      --sanitize) sanitize=1 ;;
      --all)
        sanitize=1
        without=none
        again=(-E 'consumer|guide|wheel|check_|smoke')
        ;;
      *)
        echo "./dev test $1: expected --sanitize, --all or nothing" >&2
        exit 2
        ;;
    esac
    shift
  done
  say_how_long_tests_take "$sanitize"
  want "the test of the report's page" "${browser_packages[@]}"
  build release
  took "build release"
  run_ctest "" release -LE "$without"
  SLUICE_ENABLE_ONEDNN=0 run_ctest without_oneDNN release \
    -LE "$without" "${again[@]}"
  if [ -n "$sanitize" ]; then
    need "${sanitizer_packages[@]}"
    build tsan sluice_threads_test
    took "build tsan"
    run_ctest "" tsan -LE "$without"
    # The consumer projects set their own flags, so they run only once.
    build dev
    took "build dev"
    run_ctest "" dev -LE "$without|consumer"
  fi
  [ $without = slow ] || against_torch
  python3 tools/run_tests.py --summary "${results[@]}" || status=1
  return $status
}

# run_ctest TITLE PRESET [argument of ctest...]: adds to `status` and `results`
# of run_tests. TITLE is "" for the run named after the preset.
run_ctest() {
  results+=("build/$2/tests${1:+_$1}.xml")
  python3 tools/run_tests.py ${1:+--title "$1"} "${@:2}" || status=1
  took "tests ${1:-$2}"
}

# PyTorch takes gigabytes, so it is used only if the benchmarks installed it.
# Otherwise python.test_against_torch compares ops with recorded values.
against_torch() {
  local python=build/peers/torch/bin/python
  if [ ! -x "$python" ]; then
    echo "./dev: ops are held against recorded values of PyTorch only: it" \
      "comes with ./dev bench train --peers" >&2
    return 0
  fi
  results+=(build/release/tests_torch.xml)
  PYTHONPATH=build/release/python "$python" -m pytest -rfEs \
    -p no:cacheprovider --junitxml=build/release/tests_torch.xml \
    tests/python/test_against_torch.py tests/python/optimizers \
    tests/python/losses || status=1
}

say_how_long_tests_take() {
  local built=""
  [ -e build/release/tests/sluice_operators_test ] && built=1
  echo "./dev test: the tests take about 7 minutes on 2 cores$(
    [ -n "$built" ] || echo ", compiling them the first time 5 more"
  )${1:+; the sanitizers 12 more, 5 once they are built}"
}
