#include <algorithm>

#include <unsupported/Eigen/CXX11/Tensor>

#include "sluice/operators/math/eigen_views.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::eigen {
namespace {

// Evaluates one expression for each distance. Its terms are summed in a tree.
template <typename T>
class EigenManhattanDistance final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    using Device = Eigen::DefaultDevice;
    using Row = typename TTypes<T>::ConstVec;
    using Distance = typename TTypes<T>::Scalar;
    const auto x = context.Input("X").matrix<T>();
    const auto y = context.Input("Y").matrix<T>();
    const int64_t m = y.dimension(0);
    const int64_t p = y.dimension(1);
    Tensor& out = context.AllocateOutput("Out", {x.dimension(0), m});
    if (out.numel() == 0) return;  // x may have rows without elements
    const auto z = out.matrix<T>();
    const Device& device = context.eigen_device<Device>();
    ParallelFor(x.dimension(0), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t j = 0; j < m; ++j) {
          Distance(z.data() + i * m + j).device(device) =
              (Row(x.data() + i * p, p) - Row(y.data() + j * p, p)).abs().sum();
        }
      }
    });
  }
};

// Each distance costs about 30 cycles, and its terms use vectors of 16 bytes.
KernelWork EigenDistanceWork(const KernelQuery& query) {
  const DDim& x = query.inputs[0];
  KernelWork work = DefaultKernelWork(query);
  const auto distances = static_cast<double>(query.outputs[0].numel());
  work.dots = distances;
  work.terms = distances * static_cast<double>(x[1]);
  work.max_threads = std::max(static_cast<double>(x[0]), 1.0);
  return work;
}

}  // namespace

REGISTER_OP_KERNEL(manhattan_distance,
                   EIGEN,
                   CPUPlace,
                   expression,
                   KernelTraits().Estimate(&EigenDistanceWork),
                   EigenManhattanDistance<FloatTypes>);

}  // namespace sluice::eigen
