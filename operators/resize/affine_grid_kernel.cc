#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

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
        int64_t rest = i % points;
        for (int d = 0; d < count; ++d) {
          const int64_t size = dims_[count - d];
          position[d] = PositionOf(rest % size, size);
          rest /= size;
        }
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
  double PositionOf(int64_t i, int64_t size) const {
    const auto at = static_cast<double>(i), length = static_cast<double>(size);
    if (!align_corners_) return (2 * at + 1) / length - 1;
    return size == 1 ? 0 : 2 * at / (length - 1) - 1;
  }

  bool align_corners_;
  DDim dims_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(affine_grid, AffineGridKernel<FloatTypes>);

}  // namespace sluice
