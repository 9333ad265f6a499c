"""Sources of kernels as text, and what becomes of them."""

import os
import shutil

import numpy as np
import pytest

import sluice as sl

no_compiler = pytest.mark.skipif(
    not shutil.which("c++") and not os.environ.get("CXX"),
    reason="no C++ compiler",
)

X = np.array([-1, 0, 2, 3], "float32")
KERNEL = """
#include "sluice/framework/op/op_registry.h"

using namespace sluice;

template <typename T>
class Relu final : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    Tensor& out = context.AllocateOutput("Out", x.dims());
    for (int64_t i = 0; i < x.numel(); ++i) {
      const T value = x.data<T>()[i];
      out.data<T>()[i] = RESULT;
    }
  }
};

REGISTER_OP_KERNEL(relu, MINE, CPUPlace, NAME, KernelTraits(), KERNELS);
"""


def source(name, result, kernels="Relu<float>"):
    text = KERNEL.replace("NAME", name).replace("RESULT", result)
    return text.replace("KERNELS", kernels)


def relu(name, x=X):
    out = sl.run_op("relu", {"X": x}, hint=f"require variant={name}")["Out"]
    return out.tolist()


def refused(check_id, *arguments, kind=sl.InvalidArgumentError, **options):
    """The message of the error with which compile_kernels ends."""
    with pytest.raises(kind) as caught:
        sl.compile_kernels(*arguments, **options)
    assert caught.value.check_id == check_id, caught.value
    message = str(caught.value)
    if check_id != "compile.wrong":  # a command that repeats it has the file
        assert os.environ["SLUICE_KERNEL_CACHE"] not in message
    return message
