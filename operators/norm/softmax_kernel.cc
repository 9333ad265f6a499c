#include <algorithm>

#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/math/cast.h"
#include "sluice/operators/math/softmax.h"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;

math::SoftmaxDims DimsOf(const DDim& x, int64_t axis) {
  const auto at = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
  return {x.Product(0, at), x[at], x.Product(at + 1, x.rank())};
}

// The functions of the ops: softmax and its logarithm.
struct Plain {
  template <typename T>
  static void Forward(const math::SoftmaxDims& dims, const T* x, T* out) {
    math::Softmax(dims, x, out);
  }
  template <typename T>
  static void Backward(const math::SoftmaxDims& dims,
                       const T* out,
                       const T* out_grad,
                       T* x_grad) {
    math::SoftmaxGrad(dims, out, out_grad, x_grad);
  }
};

struct Logarithm {
  template <typename T>
  static void Forward(const math::SoftmaxDims& dims, const T* x, T* out) {
    math::LogSoftmax(dims, x, out);
  }
  template <typename T>
  static void Backward(const math::SoftmaxDims& dims,
                       const T* out,
                       const T* out_grad,
                       T* x_grad) {
    math::LogSoftmaxGrad(dims, out, out_grad, x_grad);
  }
};

template <typename T, typename Form>
class SoftmaxKernel final : public OpKernel {
 public:
  explicit SoftmaxKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  void Prepare(framework::KernelPreparation& preparation) override {
    dims_ = DimsOf(preparation.query.inputs[0], axis_);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, x.dims());
    if (out.numel() == 0) return;
    Form::Forward(dims_, x.data<T>(), out.data<T>());
  }

 private:
  int64_t axis_;
  math::SoftmaxDims dims_;
};

// float16 and bfloat16 are computed in float32 and rounded once.
template <typename T, typename Form>
class HalfSoftmaxKernel final : public OpKernel {
 public:
  explicit HalfSoftmaxKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  void Prepare(framework::KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    dims_ = DimsOf(x, axis_);
    preparation.scratch_bytes = static_cast<size_t>(x.numel()) * sizeof(float);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, x.dims());
    const int64_t count = out.numel();
    if (count == 0) return;
    auto* const values = static_cast<float*>(context.scratch());
    math::Cast(x.data<T>(), count, platform::DType::kFloat32, values);
    Form::Forward(dims_, values, values);
    math::Cast(values, count, platform::kDTypeOf<T>, out.data<T>());
  }

 private:
  int64_t axis_;
  math::SoftmaxDims dims_;
};

template <typename T, typename Form>
class SoftmaxGradKernel final : public OpKernel {
 public:
  explicit SoftmaxGradKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  void Prepare(framework::KernelPreparation& preparation) override {
    dims_ = DimsOf(preparation.query.inputs[0], axis_);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& out = context.Input(0);
    Tensor& grad = context.AllocateOutput(0, out.dims());
    if (grad.numel() == 0) return;
    Form::Backward(dims_, out.data<T>(), context.Input(1).data<T>(),
                   grad.data<T>());
  }

 private:
  int64_t axis_;
  math::SoftmaxDims dims_;
};

// Each row takes two passes from a cache, and additional steps at its ends.
framework::KernelWork GradWork(const framework::KernelQuery& query) {
  const DDim& x = query.outputs[0];
  if (x.numel() == 0) return {};
  const math::SoftmaxDims dims = DimsOf(x, query.Attr<int64_t>("axis"));
  framework::KernelWork work = framework::DefaultKernelWork(query);
  work.flops *= 4;
  const int64_t rows = x.numel() / std::max<int64_t>(dims.size, 1);
  work.moves = 10 * static_cast<double>(rows);
  return work;
}

}  // namespace

REGISTER_OP_CPU_KERNEL(softmax,
                       SoftmaxKernel<float, Plain>,
                       SoftmaxKernel<double, Plain>,
                       HalfSoftmaxKernel<platform::float16, Plain>,
                       HalfSoftmaxKernel<platform::bfloat16, Plain>);
REGISTER_OP_KERNEL(softmax_grad,
                   PLAIN,
                   CPUPlace,
                   plain,
                   framework::KernelTraits().Estimate(&GradWork),
                   SoftmaxGradKernel<float, Plain>,
                   SoftmaxGradKernel<double, Plain>);
REGISTER_OP_CPU_KERNEL(log_softmax,
                       SoftmaxKernel<float, Logarithm>,
                       SoftmaxKernel<double, Logarithm>,
                       HalfSoftmaxKernel<platform::float16, Logarithm>,
                       HalfSoftmaxKernel<platform::bfloat16, Logarithm>);
REGISTER_OP_CPU_KERNEL(log_softmax_grad,
                       SoftmaxGradKernel<float, Logarithm>,
                       SoftmaxGradKernel<double, Logarithm>);

}  // namespace sluice::operators
