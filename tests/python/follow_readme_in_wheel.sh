#!/usr/bin/env bash
# `pip install .` from a copy of the tree in a fresh environment, then the
# training script of the README:
#   follow_readme_in_wheel.sh SOURCE_DIR WORK_DIR PYTHON
set -euo pipefail
source_dir=$1 work=$2 python=$3
rm -rf "$work/venv" && mkdir -p "$work/tree"
# What is left of an earlier run saves compiling.
find "$work/tree" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
tar -C "$source_dir" --exclude=./build --exclude=./.git -cf - . |
  tar -C "$work/tree" -xf -
"$(readlink -f "$python")" -m venv "$work/venv"
cd "$work/tree"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check .
awk '/^```python/ { on = 1; next } /^```/ { on = 0 } on' README.md \
  >"$work/train.py"
"$work/venv/bin/python" "$work/train.py" | tee "$work/output"
grep -q '0\.9[0-9]' "$work/output"
"$work/venv/bin/python" -c '
import sluice as sl
assert "site-packages" in sl.__file__, sl.__file__
assert sl.Tensor([1.0], place=sl.FPGAPlace(0)).numpy() == 1
'
test -e "$work"/venv/lib/python3*/site-packages/sluice/_core.pyi
test -e "$work"/venv/lib/python3*/site-packages/sluice/layers/ops.pyi
test -e "$work"/venv/lib/python3*/site-packages/sluice/py.typed
