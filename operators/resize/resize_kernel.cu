#include <algorithm>
#include <utility>

#include "sluice/operators/registration.h"
#include "sluice/operators/resize/resize_axis.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {

// Resizes one axis: [outer, in, inner] to [outer, out, inner], or back.
struct DeviceResize {
  ResizeAxis axis;
  int64_t outer = 1;
  int64_t inner = 1;

  // Returns an element of Out: the sum of its taps.
  template <typename Value, typename From>
  __device__ Value Forward(int64_t at, const From* x) const {
    const int64_t j = at / inner % axis.out;
    const From* line = x + at / inner / axis.out * axis.in * inner + at % inner;
    const ResizePosition position = axis.PositionOf(j);
    if (axis.IsOutside(position)) return static_cast<Value>(axis.outside);
    const double weights = axis.WeightSum(position);
    Value sum = 0;
    for (int64_t t = 0; t < axis.taps(); ++t) {
      const ResizeTap tap = axis.TapOf(position, t, weights);
      if (tap.weight == 0) continue;
      sum += static_cast<Value>(tap.weight) *
             static_cast<Value>(line[tap.index * inner]);
    }
    return sum;
  }

  // Returns the first element of Out whose position is at `floor` or after it.
  __device__ int64_t FirstAt(int64_t floor) const {
    int64_t first = 0;
    int64_t last = axis.out;
    while (first < last) {
      const int64_t middle = first + (last - first) / 2;
      if (axis.PositionOf(middle).floor < floor) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    return first;
  }

  // Whether positions are ascending. They may not be for scales below 1 / in
  // with aligned corners, or if a part of X is reversed.
  __device__ bool Ascends() const {
    if (axis.coordinates == ResizeCoordinates::kCropAndResize) {
      return axis.start <= axis.end && axis.length >= 1;
    }
    return axis.coordinates != ResizeCoordinates::kAlignCorners ||
           axis.length >= 1;
  }

  // Returns an element of X's gradient: the sum over the elements of Out that
  // it is a tap of, in order.
  template <typename From>
  __device__ double Backward(int64_t at, const From* grad) const {
    const int64_t i = at / inner % axis.in;
    const From* line =
        grad + at / inner / axis.in * axis.out * inner + at % inner;
    // Half of the taps are before the position. The first and the last element
    // of X also replace all elements outside.
    const int64_t half =
        axis.mode == ResizeMode::kNearest ? 1 : axis.taps() / 2;
    const bool ascends = Ascends();
    const int64_t begin = ascends && i > 0 ? FirstAt(i - half) : 0;
    const int64_t end =
        ascends && i < axis.in - 1 ? FirstAt(i + half) : axis.out;
    double sum = 0;
    for (int64_t j = begin; j < end; ++j) {
      const ResizePosition position = axis.PositionOf(j);
      const double weights = axis.WeightSum(position);
      for (int64_t t = 0; t < axis.taps(); ++t) {
        const ResizeTap tap = axis.TapOf(position, t, weights);
        if (tap.index != i || tap.weight == 0) continue;
        sum += tap.weight * static_cast<double>(line[j * inner]);
      }
    }
    return sum;
  }

  template <typename From, typename To>
  void RunForward(const CUDADeviceContext& device,
                  const From* x,
                  To* out) const {
    const DeviceResize self = *this;
    ForEach(device, outer * axis.out * inner, [=] __device__(int64_t i) {
      out[i] = self.template Forward<To>(i, x);
    });
  }

  template <typename From, typename To>
  void RunBackward(const CUDADeviceContext& device,
                   const From* grad,
                   To* x_grad) const {
    const DeviceResize self = *this;
    ForEach(device, outer * axis.in * inner, [=] __device__(int64_t i) {
      x_grad[i] = static_cast<To>(self.Backward(i, grad));
    });
  }
};

// The axes that change, in the order of the passes: last axis first, and
// reversed for the gradient.
class DeviceResizes {
 public:
  DeviceResizes() = default;
  DeviceResizes(const std::vector<ResizeAxis>& axes, bool backward)
      : backward_(backward) {
    const auto rank = static_cast<int>(axes.size());
    std::vector<int64_t> sizes;
    for (const ResizeAxis& axis : axes) {
      sizes.push_back(backward ? axis.out : axis.in);
    }
    for (int i = 0; i < rank; ++i) {
      const int at = backward ? i : rank - 1 - i;
      const ResizeAxis& axis = axes[at];
      if (axis.Identity()) continue;
      DeviceResize pass{axis};
      for (int other = 0; other < rank; ++other) {
        if (other < at) pass.outer *= sizes[other];
        if (other > at) pass.inner *= sizes[other];
      }
      sizes[at] = backward ? axis.in : axis.out;
      passes_.push_back(pass);
    }
    for (size_t i = 0; i + 1 < passes_.size(); ++i) {
      const DeviceResize& pass = passes_[i];
      scratch_ =
          std::max(scratch_, pass.outer * pass.inner *
                                 (backward ? pass.axis.in : pass.axis.out));
    }
  }

  // Returns the elements of scratch.
  int64_t scratch() const { return 2 * scratch_; }

  template <typename T, typename Value>
  void Run(const CUDADeviceContext& device,
           const T* from,
           int64_t count,
           Value* scratch,
           T* to) const {
    if (passes_.empty()) {
      ForEach(device, count, [=] __device__(int64_t i) { to[i] = from[i]; });
      return;
    }
    if (passes_.size() == 1) return RunPass(device, passes_[0], from, to);
    Value* here = scratch;
    Value* next = scratch + scratch_;
    RunPass(device, passes_[0], from, here);
    for (size_t i = 1; i + 1 < passes_.size(); ++i) {
      RunPass(device, passes_[i], here, next);
      std::swap(here, next);
    }
    RunPass(device, passes_.back(), here, to);
  }

 private:
  template <typename From, typename To>
  void RunPass(const CUDADeviceContext& device,
               const DeviceResize& pass,
               const From* from,
               To* to) const {
    if (backward_) {
      pass.RunBackward(device, from, to);
    } else {
      pass.RunForward(device, from, to);
    }
  }

  bool backward_ = false;
  std::vector<DeviceResize> passes_;
  int64_t scratch_ = 0;
};

template <typename T>
class ResizeCUDAKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    dims_ = preparation.query.outputs[0];
    if (dims_.numel() == 0) return;
    resizes_ = DeviceResizes(
        ResizeAxesOf(preparation.query, preparation.query.inputs[0], dims_),
        /*backward=*/false);
    preparation.scratch_bytes =
        static_cast<size_t>(resizes_.scratch()) * sizeof(T);
  }

  void Compute(OpKernelContext& context) const override {
    T* out = context.AllocateOutput(0, dims_).template data<T>();
    if (dims_.numel() == 0) return;
    resizes_.Run(context.device_context<CUDADeviceContext>(),
                 context.Input(0).template data<T>(), dims_.numel(),
                 static_cast<T*>(context.scratch()), out);
  }

 private:
  DDim dims_;
  DeviceResizes resizes_;
};

// X only provides the shape. Sums are in double.
template <typename T>
class ResizeGradCUDAKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    dims_ = preparation.query.inputs[0];
    if (dims_.numel() == 0) return;
    resizes_ = DeviceResizes(
        ResizeAxesOf(preparation.query, dims_, preparation.query.inputs[1]),
        /*backward=*/true);
    preparation.scratch_bytes =
        static_cast<size_t>(resizes_.scratch()) * sizeof(double);
  }

  void Compute(OpKernelContext& context) const override {
    T* x_grad = context.AllocateOutput(0, dims_).template data<T>();
    if (dims_.numel() == 0) return;
    resizes_.Run(context.device_context<CUDADeviceContext>(),
                 context.Input(1).template data<T>(), dims_.numel(),
                 static_cast<double*>(context.scratch()), x_grad);
  }

 private:
  DDim dims_;
  DeviceResizes resizes_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(resize, ResizeCUDAKernel<FloatTypes>);
REGISTER_OP_CUDA_KERNEL(resize_grad, ResizeGradCUDAKernel<FloatTypes>);

}  // namespace sluice
