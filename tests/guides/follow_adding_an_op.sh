#!/usr/bin/env bash
# Does what design/adding_an_op.md says, word for word, in a copy of the tree:
#   follow_adding_an_op.sh SOURCE_DIR WORK_DIR [CMAKE_OPTION...]
# Fails unless the operator builds, passes its tests and the harness, and
# touched two sources, one test and one word.
set -euo pipefail
source_dir=$1 work=$2
shift 2
guide=$source_dir/design/adding_an_op.md
tree=$work/tree
rm -rf "$tree" && mkdir -p "$tree"
tar -C "$source_dir" --exclude=./build --exclude=./.git -cf - . |
  tar -C "$tree" -xf -

# Each ```cpp file=NAME block becomes that file; the ```cmake word block is
# the word.
awk -v tree="$tree" '
  /^```cpp file=/ { file = tree "/" substr($0, 13); next }
  /^```cmake word/ { file = tree "/word"; next }
  /^```/ { file = ""; next }
  file != "" { print > file }' "$guide"
word=$(cat "$tree/word") && rm "$tree/word"
sed -i "s/^set(operator_words/&\n  $word/" "$tree/operators/CMakeLists.txt"

touched=$(cd "$tree" && { diff -rq --exclude=build --exclude=.git \
  "$source_dir" . || true; } | wc -l)
if [ "$touched" -ne 4 ]; then
  echo "the guide touches $touched files, expected two sources, one test and" \
    "the list of words" >&2
  exit 1
fi

# Two levels below the source, as every preset: then ccache knows the objects.
cmake -S "$tree" -B "$tree/build/guide" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DSLUICE_BUILD_BENCHMARKS=OFF -DSLUICE_BUILD_EXAMPLES=OFF "$@" >/dev/null
cmake --build "$tree/build/guide" --target sluice_operators_test sluice-kernels
"$tree/build/guide/tools/sluice-kernels" "$word" | grep -c "^$word .*float" |
  grep -qx 2
test_program=$(find "$tree/build/guide" -name sluice_operators_test -type f)
"$test_program" --gtest_filter="*Clip*:*clip*:OpCases.*" | tee "$work/tests.log"
# At least the two tests of the guide and the harness's own.
passed=$(grep -c '^\[       OK \].*[Cc]lip' "$work/tests.log")
[ "$passed" -ge 5 ]
