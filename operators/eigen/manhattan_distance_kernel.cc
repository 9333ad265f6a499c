#include <unsupported/Eigen/CXX11/Tensor>

#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/eigen/vector_share.h"
#include "sluice/operators/math/eigen_views.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::operators::eigen {
namespace {

using framework::KernelQuery;
using framework::KernelTraits;
using framework::KernelWork;
using framework::OpKernelConstruction;
using framework::Tensor;

// One expression for each row of X: a view of a matrix with the differences to
// all rows of Y, whose absolute values are summed in a tree.
template <typename T>
class EigenManhattanDistance final : public framework::OpKernel {
 public:
  explicit EigenManhattanDistance(const OpKernelConstruction&) {}

  void Compute(framework::OpKernelContext& context) const override {
    using Device = Eigen::DefaultDevice;
    using Index = Eigen::Index;
    const Tensor& x_tensor = context.Input("X");
    const Tensor& y_tensor = context.Input("Y");
    const auto x = x_tensor.matrix<T>();
    const auto y = y_tensor.matrix<T>();
    const Index m = y.dimension(0);
    const Index p = y.dimension(1);
    Tensor& out = context.AllocateOutput("Out", {x.dimension(0), m});
    auto z = out.matrix<T>();
    const Device& device = context.eigen_device<Device>();
    platform::ParallelFor(x.dimension(0), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto row = x.chip(i, 0)
                             .reshape(Eigen::array<Index, 2>{1, p})
                             .broadcast(Eigen::array<Index, 2>{m, 1});
        z.chip(i, 0).device(device) =
            (row - y).abs().sum(Eigen::array<Index, 1>{1});
      }
    });
  }
};

std::string NotEmptyRows(const KernelQuery& query) {
  const bool empty =
      query.inputs[0].numel() == 0 || query.inputs[1].numel() == 0;
  return empty ? "takes no empty matrices" : "";
}

// A difference, its absolute value and a sum for each term, which the view of
// the repeated row makes several times as long.
KernelWork EigenDistanceWork(const KernelQuery& query) {
  const framework::DDim& x = query.inputs[0];
  const framework::DDim& y = query.inputs[1];
  const size_t element = platform::SizeOf(query.input_dtypes[0]);
  KernelWork work = framework::DefaultKernelWork(query);
  work.flops = 3 * static_cast<double>(x[0]) * static_cast<double>(y[0]) *
               math::Padded(x[1], static_cast<int64_t>(16 / element));
  work.efficiency = 0.15 * VectorShare(element);
  work.max_threads = static_cast<double>(x[0]);
  return work;
}

}  // namespace

REGISTER_OP_KERNEL(
    manhattan_distance,
    EIGEN,
    CPUPlace,
    expression,
    KernelTraits().Estimate(&EigenDistanceWork).When(&NotEmptyRows),
    EigenManhattanDistance<float>,
    EigenManhattanDistance<double>);

}  // namespace sluice::operators::eigen
