#!/usr/bin/env bash
# Does what design/adding_an_op.md says, word for word, in a copy of the tree:
#   follow_adding_an_op.sh SOURCE_DIR WORK_DIR [CMAKE_OPTION...]
# Fails unless the operator and the row of a table build, pass their tests and
# the harness, and touched two sources, one test and one table.
set -euo pipefail
source_dir=$1 work=$2
shift 2
guide=$source_dir/design/adding_an_op.md
tree=$work/tree
rm -rf "$tree" && mkdir -p "$tree"
tar -C "$source_dir" --exclude=./build --exclude=./.git -cf - . |
  tar -C "$tree" -xf -

# Each ```cpp file=NAME block becomes that file.
awk -v tree="$tree" '
  /^```cpp file=/ { file = tree "/" substr($0, 13); next }
  /^```/ { file = ""; next }
  file != "" { print > file }' "$guide"

# The ```cpp row=TABLE block goes in front of the table's list of rows, and its
# name to the end of the list.
table=$(sed -n 's/^```cpp row=//p' "$guide")
awk '/^```cpp row=/ { on = 1; next } /^```/ { on = 0 } on' "$guide" \
  >"$work/row.inc"
row=$(sed -n 's/^struct \(.*\) {$/\1/p' "$work/row.inc")
{
  sed '/^using Table = /,$d' "$source_dir/$table"
  cat "$work/row.inc"
  sed -n '/^using Table = /,$p' "$source_dir/$table" | sed "s/>;$/, $row>;/"
} >"$tree/$table"

touched=$(cd "$tree" && { diff -rq --exclude=build --exclude=.git \
  "$source_dir" . || true; } | wc -l)
if [ "$touched" -ne 4 ]; then
  echo "the guide touches $touched files, expected two sources, one test and" \
    "one table" >&2
  exit 1
fi

# Two levels below the source, as every preset: then ccache knows the objects.
cmake -S "$tree" -B "$tree/build/guide" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DSLUICE_BUILD_BENCHMARKS=OFF -DSLUICE_BUILD_EXAMPLES=OFF "$@" >/dev/null
cmake --build "$tree/build/guide" --target sluice_operators_test sluice-kernels
"$tree/build/guide/tools/sluice-kernels" wrap | grep -c "^wrap .*float" |
  grep -qx 2
name=$(sed -n 's/.*[.]name = "\(.*\)",/\1/p' "$work/row.inc")
"$tree/build/guide/tools/sluice-kernels" "$name" | grep -c "^$name .*float" |
  grep -qx 4
test_program=$(find "$tree/build/guide" -name sluice_operators_test -type f)
"$test_program" --gtest_filter="*Wrap*:*wrap*:*/$name*:Unary*:OpCases.*" | tee "$work/tests.log"
# At least the two tests of the guide and the harness's own, and these for the
# row and its gradient.
passed=$(grep -c '^\[       OK \].*[Ww]rap' "$work/tests.log")
[ "$passed" -ge 5 ]
passed=$(grep -c "^\[       OK \].*/$name" "$work/tests.log")
[ "$passed" -ge 10 ]
