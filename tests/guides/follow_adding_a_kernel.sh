#!/usr/bin/env bash
# Does what design/adding_a_kernel.md says, word for word, in an empty folder:
#   follow_adding_a_kernel.sh SOURCE_DIR WORK_DIR PREFIX CUDA_MODE [PYTHON]
# PREFIX is where Sluice is installed; CUDA_MODE is its SLUICE_CUDA; PYTHONPATH
# names its package for PYTHON. Fails unless each kernel is one file, those of
# tests/consumers are the page's, and each runs where a hint requires it.
set -euo pipefail
source_dir=$1 work=$2 prefix=$3 cuda=$4 python=${5:-}
guide=$source_dir/design/adding_a_kernel.md
rm -rf "$work" && mkdir -p "$work"

# Each block with file=NAME becomes that file; the ```sh run=PART blocks are
# run, PART by PART.
awk -v work="$work" '
  /^```[a-z]* file=/ { sub(/.*file=/, ""); file = work "/" $0; next }
  /^```sh run=/ { sub(/.*run=/, ""); file = work "/" $0 ".sh"; next }
  /^```/ { file = ""; next }
  file != "" { print >> file }' "$guide"
diff -r --exclude="*.sh" --exclude="*.py" \
  "$source_dir/tests/consumers/add_kernel" "$work"

cd "$work"
export CMAKE_PREFIX_PATH=$prefix CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
export PATH=$prefix/bin:$PATH
python() { "$python" -B "$@"; }
export -f python
export python

# expect LOG TEXT...: every text stands in the log.
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
expect cpp.log 'relu +cpu +float32 +any +MINE +fast' \
  'kernels.relu/fast.float32' '0 failed' \
  'loaded relu/fast .cpu float32' 'hint' \
  'relu/fast .*us +.* us to .* us' 'relu/plain .*us +.* us to .* us'
bash -euxo pipefail path.sh 2>&1 | tee path.log
expect path.log 'MINE +fast'
if [ "$cuda" = EMULATE ]; then
  bash -euxo pipefail cuda.sh 2>&1 | tee cuda.log
  expect cuda.log 'loaded relu/fast .cuda float32' 'relu/fast .cuda .*us'
fi
if [ -n "$python" ]; then
  bash -euxo pipefail python.sh 2>&1 | tee python.log
  expect python.log 'mine' 'the kernels agree'
fi
