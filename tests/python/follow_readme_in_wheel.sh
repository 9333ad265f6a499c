#!/usr/bin/env bash
# `pip install .` from a copy of the tree in a fresh environment, then the
# training script of the README; without CUDA, without oneDNN and with both:
#   follow_readme_in_wheel.sh SOURCE_DIR WORK_DIR PYTHON
set -euo pipefail
source_dir=$1 work=$2 python=$3
mkdir -p "$work/tree"
# The build folder of an earlier run saves compile time.
find "$work/tree" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
tar -C "$source_dir" --exclude=./build --exclude=./.git -cf - . |
  tar -C "$work/tree" -xf -
cd "$work/tree"
awk '/^```python/ { on = 1; next } /^```/ { on = 0 } on' README.md \
  >"$work/train.py"

# install_and_train CUDA ONEDNN
install_and_train() {
  echo "== SLUICE_CUDA=$1 SLUICE_ONEDNN=$2"
  rm -rf "$work/venv"
  "$(readlink -f "$python")" -m venv "$work/venv"
  # With the compiler and flags of the other builds, ccache has the objects.
  SLUICE_CUDA=$1 SLUICE_ONEDNN=$2 SKBUILD_CMAKE_DEFINE=SLUICE_WERROR=ON \
    CXX=${CXX:-c++} \
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check .
  "$work/venv/bin/python" "$work/train.py" >"$work/output"
  cat "$work/output"
  grep -Eq '^\[array\(\[?0\.9[0-9]' "$work/output"
  SLUICE_RECORDS=off "$work/venv/bin/sluice-lab" records
  CUDA=$1 ONEDNN=$2 "$work/venv/bin/python" - <<'PYTHON'
import os

import sluice as sl

assert "site-packages" in sl.__file__, sl.__file__
assert sl.Tensor([1.0], place=sl.FPGAPlace(0)).numpy() == 1
try:
    sl.Executor(sl.CUDAPlace(0))
    cuda = "EMULATE"
except sl.UnimplementedError:
    cuda = "OFF"
assert cuda == os.environ["CUDA"], cuda
libraries = {kernel.library for kernel in sl.kernels("matmul")}
onednn = "ON" if "ONEDNN" in libraries else "OFF"
assert onednn == os.environ["ONEDNN"], onednn
PYTHON
  local package
  package=$(echo "$work"/venv/lib/python3*/site-packages/sluice)
  for file in _core.pyi layers/ops.pyi layers/rows.pyi py.typed lab/report/web/page.html; do
    test -e "$package/$file"
  done
  test ! -e "$package/fluid"
  "$work/venv/bin/pip" install --quiet --disable-pip-version-check ./fluid
  test -e "$package/fluid/op_layers/ops.pyi"
  "$work/venv/bin/python" -c '
import sluice.fluid as fluid
out = fluid.layers.fc(fluid.layers.data("x", [3]), 2)
exe = fluid.Executor()
exe.run(fluid.default_startup_program())
print(fluid.io.save_inference_model("model", ["x"], [out], exe))'
}

install_and_train OFF ON
install_and_train EMULATE OFF
install_and_train EMULATE ON
