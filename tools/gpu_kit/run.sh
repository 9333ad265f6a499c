#!/usr/bin/env bash
# Tests and measures Sluice on this machine's GPU, or on the emulation. Needs no
# compiler and no network, but Python 3.9 or newer, with NumPy for parts 2, 5, 6.
#
#   run.sh [OPTIONS]                   --help lists them
#   run.sh --exec gpu COMMAND...       a command of the log once more, with the
#   run.sh --exec emulated COMMAND...  libraries of the GPU or the emulation
set -euo pipefail
kit=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")

if [ ! -x "$kit/bin/sluice-gpu-probe" ]; then
  echo "run.sh: $kit/bin/sluice-gpu-probe is missing: copy the whole folder" >&2
  exit 102
fi

# The kit may need a newer glibc than this system has.
needed=$(cat "$kit/glibc_version" 2>/dev/null || echo 0)
here=$(getconf GNU_LIBC_VERSION 2>/dev/null | cut -d' ' -f2 || true)
if [ -n "$here" ] &&
  [ "$(printf '%s\n' "$needed" "$here" | sort -V | tail -1)" != "$here" ]; then
  echo "run.sh: this machine has glibc $here, and the kit needs" \
    "$needed: run it in a container of Debian 12, Ubuntu 22.04 or newer" \
    "(docker run --gpus all -v \"$kit\":/kit ...), or build it on Debian 12" \
    "if it was built on something newer" >&2
  exit 102
fi

# cuBLAS is not in the kit: it is part of the CUDA toolkit, or of PyTorch. The
# user's library path may contain a driver.
before=${LIBRARY_PATH_BEFORE_KIT-${LD_LIBRARY_PATH:-}}
export LIBRARY_PATH_BEFORE_KIT=$before
found=
cublas_in() {
  if [ -z "$found" ] && [ -e "$1/libcublas.so.13" ]; then found=$1; fi
}
IFS=: read -ra inherited <<<"$before"
for folder in "${inherited[@]}" ${CUDA_HOME:+"$CUDA_HOME/lib64"} /usr/local/cuda/lib64 \
  /usr/local/cuda/lib /usr/local/cuda-13*/lib64 /usr/lib/x86_64-linux-gnu; do
  cublas_in "$folder"
done
if [ -z "$found" ]; then
  named=
  for word in "$@"; do
    case $named in --python) pythons=("$word") ;; esac
    named=$word
  done
  for python in "${pythons[@]:-python3}" python3 python; do
    command -v "$python" >/dev/null || continue
    while read -r folder; do
      cublas_in "$folder"
    done < <("$python" -c '
import glob, site, sys
for path in [*site.getsitepackages(), *sys.path]:
    print(*glob.glob(path + "/nvidia/*/lib"), sep="\n")' 2>/dev/null || true)
  done
fi

if [ "${1:-}" = --exec ]; then
  case ${2:-} in
    gpu | emulated) ;;
    *)
      echo "run.sh --exec ${2:-}: expected --exec gpu COMMAND... or" \
        "--exec emulated COMMAND..." >&2
      exit 101
      ;;
  esac
  export LD_LIBRARY_PATH=$kit/$2/lib:$kit/lib${found:+:$found}${before:+:$before}
  export PYTHONPATH=$kit/python SLUICE_TEST_CASES=python3:$kit/cases
  shift 2
  exec "$@"
fi
[ -n "$found" ] || echo "run.sh: no libcublas.so.13 (CUDA 13) in CUDA_HOME," \
  "/usr/local/cuda or PyTorch's packages: a GPU cannot be used" >&2
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))'; then
  echo "run.sh: no python3 of version 3.9 or newer on PATH" >&2
  exit 102
fi
exec python3 "$kit/gpu_kit/main.py" \
  --libraries "$found${found:+${before:+:}}$before" "$@"
