#!/usr/bin/env bash
# Follows docs/adding_an_op.md word for word in a copy of the tree:
#   follow_adding_an_op.sh SOURCE_DIR WORK_DIR PYTHON [CMAKE_OPTION...]
# Fails unless the operator and the row of a table build, pass their tests and
# the harness, and touched a source, a case, refusals and a table. So do the
# rows of tests/guides/rows, one for each other table and an activation; and all
# rows are used from C++, and with PYTHON, the package's interpreter or "", from
# Python and ONNX.
set -euo pipefail
source_dir=$1 work=$2 python=$3
shift 3
rows=$source_dir/tests/guides/rows
. "$(dirname "${BASH_SOURCE[0]}")/part.sh"
tree=$work/tree
rm -rf "$tree" && mkdir -p "$tree"
guide=$work/guide.md
part "$source_dir/docs/adding_an_op.md" "In this tree" >"$guide"
tar -C "$source_dir" --exclude=./build --exclude=./.git -cf - . |
  tar -C "$tree" -xf -

blocks "$tree" <"$guide"

# add_row FILE TABLE: inserts the row before the table's list of rows, and its
# name at the end of the list.
add_row() {
  local row list='^using \(Binary[A-Za-z]*\|[A-Za-z]*Table\) ='
  row=$(sed -n 's/^struct \(.*\) {$/\1/p' "$1" | head -1)
  {
    sed "/$list/,\$d" "$source_dir/$2"
    cat "$1"
    sed -n "/$list/,\$p" "$source_dir/$2" | sed "s/>;$/, $row>;/"
  } >"$tree/$2"
}

table=$(sed -n 's/^```cpp row=//p' "$guide")
awk '/^```cpp row=/ { on = 1; next } /^```/ { on = 0 } on' "$guide" \
  >"$work/row.inc"
add_row "$work/row.inc" "$table"

touched=$(cd "$tree" && { diff -rq --exclude=build --exclude=.git \
  "$source_dir" . || true; } | wc -l)
if [ "$touched" -ne 4 ]; then
  echo "the guide touches $touched files, expected a source, a case," \
    "refusals and a table" >&2
  exit 1
fi

names=()
for file in $(cd "$rows" && find operators -name '*.inc' | sort); do
  add_row "$rows/$file" "$file"
  names+=("$(sed -n 's/.*[.]name = "\(.*\)",/\1/p' "$rows/$file")")
done
[ ${#names[@]} -eq 4 ]
cp "$rows/new_rows_test.cc" "$tree/tests/operators/unary/"

# Two levels below the source, like every preset, for ccache.
cmake -S "$tree" -B "$tree/build/guide" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DSLUICE_BUILD_BENCHMARKS=OFF -DSLUICE_BUILD_EXAMPLES=OFF "$@" \
  ${python:+-DSLUICE_BUILD_PYTHON=ON "-DPython_EXECUTABLE=$python"} >/dev/null
cmake --build "$tree/build/guide" --target sluice_operators_test \
  sluice-kernels ${python:+sluice_python}
"$tree/build/guide/tools/sluice-kernels" wrap | grep -c "^wrap .*float" |
  grep -qx 2
name=$(sed -n 's/.*[.]name = "\(.*\)",/\1/p' "$work/row.inc")
"$tree/build/guide/tools/sluice-kernels" "$name" | grep -c "^$name .*float" |
  grep -qx 4
test_program=$(find "$tree/build/guide" -name sluice_operators_test -type f)
filter="*Wrap*:*wrap*:*/$name*:Unary*:OpCases.*:NewRows.*"
for one in "${names[@]}"; do filter+=":*/$one*"; done
"$test_program" --gtest_filter="$filter" | tee "$work/tests.log"
# At least the refusal of the guide and the harness's own tests, and those of
# the row and its gradient.
passed=$(grep -c '^\[       OK \].*[Ww]rap' "$work/tests.log")
[ "$passed" -ge 5 ]
passed=$(grep -c "^\[       OK \].*/$name" "$work/tests.log")
[ "$passed" -ge 10 ]
for one in "${names[@]}"; do
  passed=$(grep -c "^\[       OK \].*/$one" "$work/tests.log")
  [ "$passed" -ge 4 ]
done
if [ -n "$python" ]; then
  PYTHONPATH=$tree/build/guide/python "$python" -B "$rows/new_rows.py" |
    grep -x "3 new rows in ONNX models"
fi
