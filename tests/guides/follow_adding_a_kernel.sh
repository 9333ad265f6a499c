#!/usr/bin/env bash
# Follows docs/adding_a_kernel.md word for word in an empty folder:
#   follow_adding_a_kernel.sh SOURCE_DIR WORK_DIR PREFIX CUDA_MODE [PYTHON]
# PREFIX is where Sluice is installed; CUDA_MODE is its SLUICE_CUDA; PYTHONPATH
# names its package for PYTHON. Fails unless each kernel is one file, those of
# tests/consumers are the page's, and each runs where a hint requires it.
set -euo pipefail
source_dir=$1 work=$2 prefix=$3 cuda=$4 python=${5:-}
. "$(dirname "${BASH_SOURCE[0]}")/part.sh"
rm -rf "$work" && mkdir -p "$work"

blocks "$work" <"$source_dir/docs/adding_a_kernel.md"
diff -r --exclude="*.sh" --exclude="*.py" --exclude="*.says" \
  "$source_dir/tests/consumers/add_kernel" "$work"

cd "$work"
export CMAKE_PREFIX_PATH=$prefix CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
export PATH=$prefix/bin:$PATH
if [ -n "$python" ]; then
  # sluice-lab is run by python3.
  PATH=$(dirname "$python"):$PATH
  python() { "$python" "$@"; }
  export -f python
  export python PYTHONDONTWRITEBYTECODE=1
fi
# Records of this walk stay in it.
export SLUICE_RECORDS=$work/lab_records.jsonl

# expect LOG TEXT...: every text is in the log.
expect() {
  local log=$1 text
  shift
  for text in "$@"; do
    if ! grep -qE "$text" "$log"; then
      echo "$log: expected $text" >&2
      exit 1
    fi
  done
}

bash -euxo pipefail cpp.sh 2>&1 | tee cpp.log
expect cpp.log 'relu +mine/fast' \
  'kernels.relu/fast.float32' '0 failed' \
  'loaded relu/fast .cpu float32' 'hint' '[01] of 1 signature '
# It may lose against the other one, of 20 ns, too.
if grep -q '1 of 1 signature' cpp.log; then
  expect cpp.log 'relu +plain +mine/fast'
fi
bash -euxo pipefail path.sh 2>&1 | tee path.log
expect path.log 'MINE +fast'
if [ "$cuda" = EMULATE ]; then
  bash -euxo pipefail cuda.sh 2>&1 | tee cuda.log
  expect cuda.log 'loaded relu/fast .cuda float32' 'mine/fast'
fi
if [ -z "$python" ]; then exit 0; fi

export SLUICE_KERNEL_CACHE=$work/kernel_cache
bash -euxo pipefail compile.sh 2>&1 | tee compile.log
expect compile.log "variant='fast'" '0. 0. 0. 0. 0. 1. 2. 3.'
bash -euxo pipefail verify.sh 2>&1 | tee verify.log
expect verify.log 'relu/fast .cpu MINE. +float32, float64 +[0-9]+, [0-9]+ refused +ok'
bash -euxo pipefail lenet.sh 2>&1 | tee lenet.log
expect lenet.log 'your kernels win [0-9]+ of [1-9][0-9]* signature' \
  "^to use them in a program: SLUICE_KERNEL_PATH=[^ ]*libfast_relu.so"
wins=$(sed -nE 's/^your kernels win ([0-9]+) of .*/\1/p' lenet.log)
if [ "$wins" -gt 0 ]; then
  expect lenet.log "libfast_relu.so SLUICE_KERNEL_HINTS='relu: prefer"
else
  expect lenet.log 'they win nowhere'
fi
if [ "$cuda" = EMULATE ]; then
  bash -euxo pipefail verify_cuda.sh 2>&1 | tee verify_cuda.log
  expect verify_cuda.log 'relu/fast .cuda MINE. +float32, float64 .* ok' \
    'your kernels win [0-9]+ of [1-9][0-9]* signature'
fi
bash -euxo pipefail python.sh 2>&1 | tee python.log
expect python.log 'mine' 'the kernels agree' \
  'relu/mine .cpu PYTHON. +float32, float64 .* ok' \
  'relu_grad/mine .cpu PYTHON. +float32, float64 .* ok' \
  'your kernels win [0-9]+ of [1-9][0-9]* signature'

# An example that the kernel rejects.
status=0
sluice-lab verify build/libfast_relu.so --example 2 >refused.log || status=$?
[ $status = 1 ]
expect refused.log \
  'takes none of the examples: example 2, .*, it refuses: needs a multiple of 8'

# One planted mistake in each language, and the verdict of verify.
expect_wrong() {
  local file=$1 text=$2 status=0
  sluice-lab verify "$file" >wrong.log 2>&1 || status=$?
  cat wrong.log
  if [ $status != 1 ]; then
    echo "verify of a wrong $file: status $status, expected 1" >&2
    exit 1
  fi
  expect wrong.log "$text"
}
plant() {
  local file=$1 right=$2 wrong=$3
  grep -q -- "$right" "$file"
  sed -i "s|$right|$wrong|" "$file"
}
plant fast_relu.cc 'from\[i\] <= 0 ? T{0} : from\[i\]' \
  'from[i] > 0 ? from[i] : T{0}'
expect_wrong fast_relu.cc 'FAIL relu/fast .cpu float32 MINE.: NaN'
plant fast_relu.cu 'input.numel(),' 'input.numel() / 4 * 4,'
plant my_kernel.py 'return np.maximum(x, 0)' \
  'return np.maximum(x, 0) * x.dtype.type(1.001)'
cmake --build build
expect_wrong build/libfast_relu.so \
  'FAIL relu/fast .cpu float32 MINE.: NaN'
while IFS= read -r line; do
  grep -qxF -- "$line" wrong.log || { echo "not said: $line" >&2; exit 1; }
done <verify_wrong.says
if [ "$cuda" = EMULATE ]; then
  expect_wrong build/libfast_relu_cuda.so \
    'FAIL relu/fast .cuda float32 MINE.: elements'
fi
expect_wrong my_kernel.py 'FAIL relu/mine .cpu float32 PYTHON.: values'
