#include <algorithm>

#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// Sets position (x, y, z) to that of point `index` of a grid of `dims`.
void PositionOf(int64_t index,
                const DDim& dims,
                bool align_corners,
                double (&position)[3]) {
  const int count = dims.rank() - 2;
  for (int d = 0; d < count; ++d) {
    const int64_t size = dims[count - d];
    const auto at = static_cast<double>(index % size);
    const auto length = static_cast<double>(size);
    position[d] = !align_corners ? (2 * at + 1) / length - 1
                  : size == 1    ? 0
                                 : 2 * at / (length - 1) - 1;
    index /= size;
  }
}

template <typename T>
class AffineGridKernel final : public OpKernel {
 public:
  explicit AffineGridKernel(const OpKernelConstruction& construction)
      : align_corners_(construction.Attr<bool>("align_corners")) {}

  void Prepare(KernelPreparation& preparation) override {
    dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    constexpr int64_t kGrain = 4096;
    T* const out = context.AllocateOutput(0, dims_).template data<T>();
    if (dims_.numel() == 0) return;
    const T* const theta = context.Input(0).data<T>();
    const int count = dims_.rank() - 2;  // spatial dims
    const int64_t points = dims_.numel() / dims_[0] / count;
    ParallelFor(dims_[0] * points, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        double position[3];  // x, y, z
        PositionOf(i % points, dims_, align_corners_, position);
        const T* row = theta + i / points * count * (count + 1);
        for (int r = 0; r < count; ++r, row += count + 1) {
          double sum = 0;
          for (int d = 0; d < count; ++d) {
            sum += row[d] * position[d];
          }
          out[i * count + r] = static_cast<T>(sum + row[count]);
        }
      }
    });
  }

 private:
  bool align_corners_;
  DDim dims_;
};

template <typename T>
class AffineGridGradKernel final : public OpKernel {
 public:
  explicit AffineGridGradKernel(const OpKernelConstruction& construction)
      : align_corners_(construction.Attr<bool>("align_corners")) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& grad = context.Input(0);
    const DDim& dims = grad.dims();
    const int count = dims.rank() - 2;
    T* const theta = context.AllocateOutput(0, DDim{dims[0], count, count + 1})
                         .template data<T>();
    const int64_t points = dims.Product(1, count + 1);
    ParallelFor(dims[0] * count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T* from = grad.data<T>() + row / count * points * count;
        double sums[4] = {};
        for (int64_t i = 0; i < points; ++i) {
          const double value = from[i * count + row % count];
          double position[3];
          PositionOf(i, dims, align_corners_, position);
          for (int d = 0; d < count; ++d) {
            sums[d] += value * position[d];
          }
          sums[count] += value;
        }
        std::copy_n(sums, count + 1, theta + row * (count + 1));
      }
    });
  }

 private:
  bool align_corners_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(affine_grid, AffineGridKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(affine_grid_grad, AffineGridGradKernel<FloatTypes>);

}  // namespace sluice
