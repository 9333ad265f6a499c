#include "sluice/operators/norm/lrn.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {

// Computes one element of row-major X as LrnGeometry specifies.
template <typename T>
struct LrnElement {
  int64_t channels, step, before, after;
  T k, scale, beta;

  explicit LrnElement(const LrnGeometry& g)
      : channels(g.channels),
        step(g.step),
        before(g.before),
        after(g.after),
        k(static_cast<T>(g.k)),
        scale(static_cast<T>(g.scale)),
        beta(static_cast<T>(g.beta)) {}
  template <typename Other>
  __device__ explicit LrnElement(const LrnElement<Other>& other)
      : channels(other.channels),
        step(other.step),
        before(other.before),
        after(other.after),
        k(other.k),
        scale(other.scale),
        beta(other.beta) {}

  // Returns the sum of term(i) over the elements i of the window around `at`.
  template <typename Term>
  __device__ T Sum(int64_t at,
                   int64_t reach_before,
                   int64_t reach_after,
                   const Term& term) const {
    const int64_t channel = at / step % channels;
    const int64_t first = -min(reach_before, channel);
    const int64_t last = min(reach_after, channels - 1 - channel);
    T sum = 0;
    for (int64_t i = first; i <= last; ++i) {
      sum += term(at + i * step);
    }
    return sum;
  }

  __device__ T Base(int64_t at, const T* x) const {
    return k + scale * Sum(at, before, after,
                           [x](int64_t i) { return x[i] * x[i]; });
  }

  // Returns x[at] * Base^-beta. If squares or the power exceed T's range, Base
  // is factored into the square of the largest element and the rest.
  __device__ T Normalized(int64_t at, const T* x) const {
    const T base = Base(at, x);
    if (base - base == 0 && base != 0) return x[at] * pow(base, -beta);
    const LrnElement<double> wide(*this);
    double most = 0;
    wide.Sum(at, before, after, [&most, x](int64_t i) {
      most = fmax(most, fabs(static_cast<double>(x[i])));
      return 0.0;
    });
    if (most - most != 0) return x[at] * pow(base, -beta);
    const double sum = wide.Sum(at, before, after, [most, x](int64_t i) {
      const double part = static_cast<double>(x[i]) / most;
      return part * part;
    });
    const double rest = wide.k / most / most + wide.scale * sum;
    return static_cast<T>(static_cast<double>(x[at]) *
                          pow(most, -2 * wide.beta) * pow(rest, -wide.beta));
  }
};

template <typename T>
class LrnCUDAKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    geometry_ = LrnGeometryOf(preparation.query);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input(0);
    const T* x = input.data<T>();
    T* out = context.AllocateOutput(0, input.dims()).template data<T>();
    const LrnElement<T> element(geometry_);
    ForEach(context.device_context<CUDADeviceContext>(), input.numel(),
            [=] __device__(int64_t i) { out[i] = element.Normalized(i, x); });
  }

 private:
  LrnGeometry geometry_;
};

template <typename T>
class LrnGradCUDAKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    geometry_ = LrnGeometryOf(preparation.query);
    preparation.scratch_bytes =
        static_cast<size_t>(preparation.query.inputs[0].numel()) * sizeof(T);
  }

  void Compute(OpKernelContext& context) const override {
    const auto& device = context.device_context<CUDADeviceContext>();
    const Tensor& input = context.Input(0);
    const T* x = input.data<T>();
    const T* out_grad = context.Input(1).template data<T>();
    T* x_grad = context.AllocateOutput(0, input.dims()).template data<T>();
    auto* const terms = static_cast<T*>(context.scratch());
    const LrnElement<T> element(geometry_);
    ForEach(device, input.numel(), [=] __device__(int64_t i) {
      const T base = element.Base(i, x);
      const T grad = out_grad[i] * pow(base, -element.beta);
      terms[i] = grad * x[i] / base;
      x_grad[i] = grad;
    });
    ForEach(device, input.numel(), [=] __device__(int64_t i) {
      const T sum = element.Sum(i, element.after, element.before,
                                [terms](int64_t j) { return terms[j]; });
      x_grad[i] -= 2 * element.scale * element.beta * x[i] * sum;
    });
  }

 private:
  LrnGeometry geometry_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(lrn, LrnCUDAKernel<FloatTypes>);
REGISTER_OP_CUDA_KERNEL(lrn_grad, LrnGradCUDAKernel<FloatTypes>);

}  // namespace sluice
