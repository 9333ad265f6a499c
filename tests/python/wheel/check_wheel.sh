#!/usr/bin/env bash
# `./dev package wheel` in a copy of the tree, which git does not know, then its wheels
# in a fresh environment of each Python, far from the tree:
#   check_wheel.sh SOURCE_DIR WORK_DIR PYTHON...
set -euo pipefail
source_dir=$1 work=$2
shift 2
unset PYTHONPATH
mkdir -p "$work/tree" "$work/far"
# What an earlier run installed for the build saves time.
find "$work/tree" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
tar -C "$source_dir" --exclude=./build --exclude=./.git -cf - . |
  tar -C "$work/tree" -xf -
(cd "$work/tree" && ./dev package wheel)

packages=$work/tree/build/package
awk '/^```python/ { on = 1; next } /^```/ { on = 0 } on' \
  "$work/tree/README.md" >"$work/train.py"
cd "$work/far"
for python in "$@"; do
  echo "== $("$python" --version)"
  rm -rf "$work/venv"
  "$(readlink -f "$python")" -m venv "$work/venv"
  pip() { "$work/venv/bin/python" -m pip --disable-pip-version-check "$@"; }
  pip install --quiet "$packages"/sluice-*.whl
  # oneDNN and libgomp are inside.
  pip list --format freeze | cut -d= -f1 | grep -Evx 'pip|setuptools' |
    tr '-' '_' | sort | xargs | tee "$work/installed"
  [ "$(cat "$work/installed")" = "nanobind_backend numpy sluice" ]
  "$work/venv/bin/python" "$work/train.py" | tee "$work/output"
  grep -Eq '^\[array\(\[?0\.9' "$work/output"
  grep -q '^program, cpu, ' "$work/output"
  "$work/venv/bin/python" "$source_dir/tests/python/wheel/check_wheel.py" \
    "$source_dir" "$packages"/sluice-*.whl
  pip install --quiet --find-links "$packages" 'sluice[fluid]'
  "$work/venv/bin/python" -c 'import sluice.fluid as fluid
print(fluid.layers.fc(fluid.layers.data("x", [3]), 2).shape)'
done
