#include "sluice/operators/math/pool/maxouting.h"

#include <algorithm>
#include <cmath>

#include "sluice/operators/math/half_conversions.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

constexpr int64_t kShardElements = 16384;

// Whether `a` replaces the earlier `b`. A NaN replaces every number; nothing
// replaces a NaN.
template <typename T>
bool Replaces(T a, T b) {
  const auto value_a = Widen(a);
  const auto value_b = Widen(b);
  return value_a > value_b || (std::isnan(value_a) && !std::isnan(value_b));
}

// The sizes that the loops need. Raises if they do not fit together.
struct Extents {
  int64_t outputs;  // N * C / groups planes
  int64_t plane;    // H * W
  int64_t grain;    // output planes for one thread
};

Extents CheckExtents(const DDim& input, const DDim& output, int groups) {
  CheckMaxOutShapes(input, output, groups);
  const int64_t plane = input[2] * input[3];
  const int64_t work = std::max<int64_t>(plane * groups, 1);
  return {output[0] * output[1], plane,
          std::max<int64_t>(kShardElements / work, 1)};
}

}  // namespace

void CheckMaxOutShapes(const DDim& input, const DDim& output, int groups) {
  SLUICE_ENFORCE(groups >= 1, ErrorCode::kInvalidArgument,
                 "maxout.functor_groups",
                 "maxout: groups = {}; expected 1 or more", groups);
  SLUICE_ENFORCE(input.rank() == 4 && output.rank() == 4 &&
                     input[0] == output[0] && input[2] == output[2] &&
                     input[3] == output[3] && input[1] % groups == 0 &&
                     input[1] / groups == output[1],
                 ErrorCode::kInvalidArgument, "maxout.functor_shapes",
                 "maxout: input {} and output {} do not fit together with "
                 "groups = {}; expected [N, C, H, W] and [N, C / groups, H, W]",
                 input, output, groups);
}

template <typename T>
void MaxOutFunctor<CPUDeviceContext, T>::operator()(const CPUDeviceContext&,
                                                    const Tensor& input,
                                                    Tensor* output,
                                                    int groups) {
  const Extents extents = CheckExtents(input.dims(), output->dims(), groups);
  if (output->numel() == 0) return;
  const T* in = input.data<T>();
  T* out = output->data<T>();
  const int64_t plane = extents.plane;
  ParallelFor(extents.outputs, extents.grain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* group = in + i * groups * plane;
      T* best = out + i * plane;
      std::copy(group, group + plane, best);
      for (int g = 1; g < groups; ++g) {
        group += plane;
        for (int64_t j = 0; j < plane; ++j) {
          best[j] = Replaces(group[j], best[j]) ? group[j] : best[j];
        }
      }
    }
  });
}

template <typename T>
void MaxOutGradFunctor<CPUDeviceContext, T>::operator()(
    const CPUDeviceContext&,
    const Tensor& input,
    const Tensor& output_grad,
    Tensor* input_grad,
    int groups) {
  const Extents extents =
      CheckExtents(input.dims(), output_grad.dims(), groups);
  if (input.numel() == 0) return;
  const T* in = input.data<T>();
  const T* from = output_grad.data<T>();
  T* to = input_grad->data<T>();
  const int64_t plane = extents.plane;
  ParallelFor(extents.outputs, extents.grain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* group = in + i * groups * plane;
      T* grad = to + i * groups * plane;
      std::fill(grad, grad + groups * plane, T{});
      for (int64_t j = 0; j < plane; ++j) {
        int64_t best = j;
        for (int64_t at = j + plane; at < groups * plane; at += plane) {
          if (Replaces(group[at], group[best])) best = at;
        }
        grad[best] = from[i * plane + j];
      }
    }
  });
}

template class SLUICE_API MaxOutFunctor<CPUDeviceContext, float>;
template class SLUICE_API MaxOutFunctor<CPUDeviceContext, double>;
template class SLUICE_API MaxOutFunctor<CPUDeviceContext, float16>;
template class SLUICE_API MaxOutFunctor<CPUDeviceContext, bfloat16>;
template class SLUICE_API MaxOutGradFunctor<CPUDeviceContext, float>;
template class SLUICE_API MaxOutGradFunctor<CPUDeviceContext, double>;
template class SLUICE_API MaxOutGradFunctor<CPUDeviceContext, float16>;
template class SLUICE_API MaxOutGradFunctor<CPUDeviceContext, bfloat16>;

}  // namespace sluice
