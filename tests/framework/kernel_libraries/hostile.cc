// A library whose kernels have errors that only C++ allows, and an op with a
// wrong gradient; for tests/python/test_verify.py.
#include <algorithm>

#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/op_registry.h"

namespace my_kernels {
namespace {

using sluice::DType;
using sluice::InferShapeContext;
using sluice::KernelPreparation;
using sluice::KernelTraits;
using sluice::OpDesc;
using sluice::OpKernel;
using sluice::OpKernelContext;
using sluice::OpSchema;
using sluice::Tensor;

template <typename T>
class OverreadingRelu final : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    T* out = context.AllocateOutput("Out", x.dims()).template data<T>();
    const T* from = x.data<T>();
    volatile T next = 0;
    for (int64_t i = 0; i < x.numel(); ++i) {
      next = from[i + 64 / static_cast<int64_t>(sizeof(T))];
      out[i] = from[i] <= 0 ? T{0} : from[i];
    }
    static_cast<void>(next);
  }
};

template <typename T>
class GreedyRelu final : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Prepare(KernelPreparation& preparation) override {
    preparation.scratch_bytes = size_t{100} << 30;
  }
  void Compute(OpKernelContext& /*context*/) const override {}
};

OpDesc CubeGradient(const OpDesc& forward) {
  return sluice::MakeGradOp(forward, "test_cube_grad",
                            {{"X"}, {}, {"Out"}, {"X"}});
}

void CubeSchema(OpSchema& op) {
  op.Doc("Out = X^3.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("X", "T", "").Output("Out", "T", "");
  op.InferShape([](InferShapeContext& context) {
    context.SetOutput("Out", context.input("X"));
  });
  op.Gradient([](const OpDesc& forward) {
    return std::vector<OpDesc>{CubeGradient(forward)};
  });
}

void CubeGradSchema(OpSchema& op) {
  op.Doc("The gradient of test_cube.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("X", "T", "").Input("Out@GRAD", "T", "").Output("X@GRAD", "T", "");
  op.InferShape([](InferShapeContext& context) {
    context.SetOutput("X@GRAD", context.input("X"));
  });
}

template <typename T>
class CubeKernel final : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    T* out = context.AllocateOutput("Out", x.dims()).template data<T>();
    std::transform(x.data<T>(), x.data<T>() + x.numel(), out,
                   [](T value) { return value * value * value; });
  }
};

// Computes 2 x^2 instead of 3 x^2.
template <typename T>
class CubeGradKernel final : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const T* grad = context.Input("Out@GRAD").data<T>();
    T* out = context.AllocateOutput("X@GRAD", x.dims()).template data<T>();
    for (int64_t i = 0; i < x.numel(); ++i) {
      out[i] = 2 * x.data<T>()[i] * x.data<T>()[i] * grad[i];
    }
  }
};

}  // namespace

REGISTER_OP_KERNEL(relu,
                   MINE,
                   CPUPlace,
                   test_overreads,
                   KernelTraits(),
                   OverreadingRelu<float>);
REGISTER_OP_KERNEL(
    relu, MINE, CPUPlace, test_greedy, KernelTraits(), GreedyRelu<float>);
REGISTER_OPERATOR(test_cube, CubeSchema);
REGISTER_OPERATOR(test_cube_grad, CubeGradSchema);
REGISTER_OP_CPU_KERNEL(test_cube, CubeKernel<float>, CubeKernel<double>);
REGISTER_OP_CPU_KERNEL(test_cube_grad,
                       CubeGradKernel<float>,
                       CubeGradKernel<double>);

}  // namespace my_kernels
