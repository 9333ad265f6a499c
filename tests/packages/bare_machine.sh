#!/usr/bin/env bash
# What a new user waits for on a bare Debian, part by part; as root, with
# debootstrap, for what `./dev package` wrote:
#   bare_machine.sh SUITE FOLDER PACKAGE...
# SUITE is bookworm, trixie or another of Debian's names. FOLDER keeps the bare
# machine for the next time. PACKAGE, each on a fresh machine:
#   *.whl     to an explained plan and the answer of an ONNX model; with the
#             word `tests` after it, Python's tests with that wheel, too
#   *.deb     to the answer of README's C++ program, by g++ alone
#   *.tar.gz  `pip install` from source
# With a wheel and a Debian package also, on one machine: kernels compiled from
# Python, and what `sluice-lab new` writes, built and tested.
set -euo pipefail
suite=$1 folder=$2
shift 2
here=$(readlink -f "$(dirname "$0")")
base=$folder/$suite root=$folder/$suite.fresh
apt=(apt-get install -qy --no-install-recommends)
# The mirror of a suite that is not released may be old.
update=(apt-get -o Acquire::Check-Valid-Until=false update -q)
mkdir -p "$folder"
if [ ! -e "$base/complete" ]; then
  rm -rf "$base"
  debootstrap --variant=minbase "$suite" "$base" >"$folder/debootstrap.log"
  touch "$base/complete"
fi
trap 'umount "$root/proc" 2>/dev/null || true' EXIT

# fresh FILE...: a machine that has had no command, with the files in /tmp.
fresh() {
  umount "$root/proc" 2>/dev/null || true
  rm -rf --one-file-system "$root"
  cp -a "$base" "$root"
  mount -t proc proc "$root/proc"
  cp "$@" "$root/tmp"
  # For networks whose certificates are their own.
  local path
  for path in /etc/ssl/certs/ca-certificates.crt \
    /usr/local/share/ca-certificates; do
    [ -e $path ] || continue
    mkdir -p "$root${path%/*}" && cp -rL $path "$root${path%/*}"
  done
  begin=$EPOCHREALTIME
}

# since BEGIN NAME: prints the seconds.
since() {
  awk -v a="$1" -v b="$EPOCHREALTIME" -v name="$2" \
    'BEGIN { printf "%5.1f s  %s\n", b - a, name }'
}

# part NAME COMMAND...: runs the command on the machine; prints its seconds.
part() {
  local start=$EPOCHREALTIME
  chroot "$root" env -u PYTHONPATH -u LD_LIBRARY_PATH -u CXX HOME=/root \
    PATH=/v/bin:/usr/bin:/bin:/usr/sbin:/sbin DEBIAN_FRONTEND=noninteractive \
    "${@:2}" >"$root.log" 2>&1 || { tail -20 "$root.log" && exit 1; }
  since "$start" "$1"
}

install_wheel() {
  part "apt-get install python3 python3-venv" "${apt[@]}" python3 python3-venv
  part "python3 -m venv" python3 -m venv /v
  part "pip install, with NumPy and nanobind-backend" \
    pip install -q --disable-pip-version-check "/tmp/${1##*/}"
}

from_wheel() {
  fresh "$1" "$here/first_program.py"
  part "apt-get update" "${update[@]}"
  install_wheel "$1"
  part "a plan, explained; an ONNX model's answer; two threads" \
    python /tmp/first_program.py
  cat "$root.log"
  since "$begin" "in all, $suite, ${1##*/}"
}

from_deb() {
  fresh "$1"
  awk '/^```cpp$/ { on = 1; next } /^```$/ && on { exit } on' \
    "$here/../../README.md" >"$root/tmp/graph.cc"
  part "apt-get update" "${update[@]}"
  part "apt-get install ./${1##*/}" "${apt[@]}" "/tmp/${1##*/}"
  part "apt-get install g++ pkg-config" "${apt[@]}" g++ pkg-config
  part "README's program, compiled" sh -c 'g++ -std=c++20 /tmp/graph.cc -o \
    /tmp/graph $(pkg-config --cflags --libs sluice)'
  part "and run" /tmp/graph
  [ "$(head -2 "$root.log" | tr '\n' ' ')" = "1 0 " ]
  since "$begin" "in all, $suite, ${1##*/}"
  [ ! -e "$root/usr/include/boost" ] && [ ! -e "$root/usr/include/fmt" ]
  chroot "$root" dpkg-query -W -f 'installed: ${Installed-Size} kB\n' sluice
}

from_source() {
  fresh "$1"
  local packages
  packages=$(sed '1,/^## From source/d' "$here/../../docs/installing.md" |
    awk '/^apt-get install/ { on = 1 } /^```$/ { on = 0 } on' | tr -d '\\\n' | cut -d' ' -f3-)
  part "apt-get update" "${update[@]}"
  # shellcheck disable=SC2086
  part "the packages that docs/installing.md lists" "${apt[@]}" $packages
  part "python3 -m venv" python3 -m venv /v
  part "pip install ${1##*/}" pip install -q --disable-pip-version-check \
    "/tmp/${1##*/}"
  part "it is there" python -c 'import sluice; sluice.show_config()'
  since "$begin" "in all, $suite, ${1##*/}"
}

# On the machine that has the wheel.
run_tests() {
  mkdir -p "$root/tmp/tree/tests"
  cp -r "$here/../python" "$root/tmp/tree/tests"
  cp -r "$here/../../fluid/sluice/fluid" \
    "$root"/v/lib/python3*/site-packages/sluice
  part "pip install pytest, ml_dtypes and protobuf" \
    pip install -q pytest ml_dtypes protobuf
  part "tests of $(chroot "$root" /v/bin/python --version)" sh -c \
    'cd /tmp/tree/tests/python && python -m pytest -q -p no:cacheprovider \
      -rfE test_tensor.py test_executor.py test_kernels.py test_program.py \
      test_dtypes.py test_wrong_arguments.py test_layers.py test_training.py \
      test_control_flow.py test_bad_input.py losses'
  tail -1 "$root.log"
}

# On the machine that has the Debian package.
with_both() {
  cp "$1" "$here/compile_times.py" "$root/tmp"
  install_wheel "$1"
  part "compile_kernels" python /tmp/compile_times.py
  cat "$root.log"
  part "apt-get install cmake; pip install pytest" sh -c \
    "${apt[*]} cmake make && pip install -q pytest"
  local new
  for new in "kernel quick_relu --op relu" "op leap" "layer gate_layer" \
    "device npu"; do
    part "sluice-lab new $new; built and tested" sh -ec "cd /tmp
      sluice-lab new $new | tee said
      sed -n '/^build and test/,\$s/^  //p' said >commands.sh
      sh -e commands.sh"
    grep -E "100% tests passed|[0-9]+ passed" "$root.log"
  done
}

wheel='' deb=''
for package in "$@"; do
  case $package in
    *.whl) wheel=$package && from_wheel "$package" ;;
    tests) run_tests ;;
    *.tar.gz) from_source "$package" ;;
    *.deb) deb=$package ;;
    *)
      echo "bare_machine.sh: $package is no .whl, .deb, .tar.gz or tests" >&2
      exit 2
      ;;
  esac
done
[ -z "$deb" ] || from_deb "$deb"
[ -z "$deb" ] || [ -z "$wheel" ] || with_both "$wheel"
