#include "sluice/operators/pool/pool2d_kernel.h"

#include <algorithm>
#include <type_traits>

#include "sluice/operators/math/cast.h"
#include "sluice/operators/math/work.h"
#include "sluice/operators/pool/pool2d_pairs.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

template <typename T>
class Pool2dKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    dims_ = preparation.query.outputs[0];
    geometry_ = Pool2dGeometryOf(preparation.query, dims_);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    Tensor& out = context.AllocateOutput("Out", dims_);
    if (out.numel() == 0) return;
    Pool2d(geometry_, x.data<T>(), out.data<T>());
  }

 private:
  Pool2dGeometry geometry_;
  DDim dims_;
};

template <typename T>
class Pool2dGradKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    dims_ = preparation.query.inputs[0];
    geometry_ =
        Pool2dGeometryOf(preparation.query, preparation.query.inputs.back());
    if (kRounds) {
      preparation.scratch_bytes =
          static_cast<size_t>(dims_.numel()) * sizeof(float);
    }
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& grad = context.Input("Out@GRAD");
    Tensor& x_grad = context.AllocateOutput("X@GRAD", dims_);
    if (x_grad.numel() == 0) return;
    const T* x = context.Input("X").data<T>();
    const T* out = geometry_.max ? context.Input("Out").data<T>() : nullptr;
    if constexpr (kRounds) {
      auto* const sums = static_cast<float*>(context.scratch());
      Pool2dGrad(geometry_, x, out, grad.data<T>(), sums);
      Cast(sums, x_grad.numel(), kDTypeOf<T>, x_grad.data<T>());
    } else {
      Pool2dGrad(geometry_, x, out, grad.data<T>(), x_grad.data<T>());
    }
  }

 private:
  // Gradients of overlapping windows are summed in float and rounded once.
  static constexpr bool kRounds = !std::is_same_v<PoolGrad<T>, T>;

  Pool2dGeometry geometry_;
  DDim dims_;
};

// Lines of windows or channels are processed tap by tap in short vectors, with
// overhead for each line. Maxima of pairs are vectorized.
KernelWork Work(const KernelQuery& query,
                const DDim& out,
                std::string_view costs) {
  const Pool2dGeometry g = Pool2dGeometryOf(query, out);
  const auto real = [](int64_t value) { return static_cast<double>(value); };
  const double windows = real(g.n * g.out_pixels()) * real(g.c);
  const double pixels = real(g.n * g.in_pixels()) * real(g.c);
  const double taps = real(g.kernel_h * g.kernel_w);
  const double lines =
      g.nhwc ? real(g.n * g.out_pixels()) * real((g.c + 127) / 128)
             : real(g.n * g.c * g.out_h) * real((g.out_w + 127) / 128);
  KernelWork work;
  work.flops = windows * taps;
  work.bytes =
      static_cast<double>(SizeOf(query.input_dtypes[0])) * (windows + pixels);
  // A shard has about 32,000 pixels of windows.
  const double shards = std::max(windows * taps / 32768, 1.0);
  work.max_threads = std::min(
      real(std::max<int64_t>(g.nhwc ? g.n * g.out_h : g.n * g.c, 1)), shards);
  work.costs = Format("{}_{}", costs, g.nhwc ? "last" : "first");
  if (IsMaxOfPairs(g)) return work;
  work.terms = windows * taps;
  work.runs = lines * taps;
  work.windows = windows;
  return work;
}

KernelWork ForwardWork(const KernelQuery& query) {
  KernelWork work = Work(query, query.outputs[0], "pool2d");
  const Pool2dGeometry g = Pool2dGeometryOf(query, query.outputs[0]);
  const size_t element = SizeOf(query.input_dtypes[0]);
  if (g.max && g.nhwc && element > 2 && !IsMaxOfPairs(g)) {
    // Each vector of channels takes a comparison and a selection per tap.
    const auto vectors = static_cast<double>(g.n * g.out_pixels()) *
                         Padded(g.c, VectorLanes(element)) /
                         static_cast<double>(VectorLanes(element));
    work.vectors = vectors * static_cast<double>(g.kernel_h * g.kernel_w);
    work.rows = vectors;
    work.terms = work.runs = work.windows = 0;
  }
  if (element > 2 && HasWholePlanes(g)) work.terms = work.runs = 0;
  return work;
}
KernelWork BackwardWork(const KernelQuery& query) {
  return Work(query, query.inputs.back(), "pool2d_grad");
}

}  // namespace

REGISTER_OP_CPU_KERNEL(pool2d,
                       EstimatedBy<&ForwardWork>,
                       Pool2dKernel<FloatAndHalfTypes>);
REGISTER_OP_CPU_KERNEL(pool2d_grad,
                       EstimatedBy<&BackwardWork>,
                       Pool2dGradKernel<FloatAndHalfTypes>);
REGISTER_OP_CPU_KERNEL(relu_pool2d,
                       EstimatedBy<&ForwardWork>,
                       Pool2dKernel<FloatAndHalfTypes>);
REGISTER_OP_CPU_KERNEL(relu_pool2d_grad,
                       EstimatedBy<&BackwardWork>,
                       Pool2dGradKernel<FloatAndHalfTypes>);

}  // namespace sluice
