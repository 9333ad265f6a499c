#include <algorithm>

#include <unsupported/Eigen/CXX11/Tensor>

#include "sluice/operators/math/eigen_views.h"
#include "sluice/operators/math/reduction/reduce_axes.h"
#include "sluice/operators/reduction/reduced_dims.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::eigen {
namespace {

// Sums rows of innermost reduced dims, in double. float64 has no such kernel:
// it needs compensated sums.
template <typename T>
class EigenRowSums final : public OpKernel {
 public:
  explicit EigenRowSums(const OpKernelConstruction& construction)
      : reduced_(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    const DDim& x = query.inputs[0];
    const ReduceAxes axes = SortAxes(x, reduced_.Of(x));
    SLUICE_ENFORCE(
        axes.terms > 0 && axes.terms == axes.row_size && axes.row_reduced,
        ErrorCode::kUnimplemented, "eigen.reduce_sum_rows",
        "reduce_sum: Eigen sums over the last dimensions alone, got "
        "others of X {}",
        x);
    rows_ = axes.outputs;
    columns_ = axes.row_size;
    out_dims_ = query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    using Device = Eigen::DefaultDevice;
    using Rows = typename TTypes<T>::ConstMatrix;
    using Sums = typename TTypes<T>::Vec;
    const T* x = context.Input("X").data<T>();
    T* out = context.AllocateOutput("Out", out_dims_).template data<T>();
    const Device& device = context.eigen_device<Device>();
    const int64_t grain = kTerms / columns_ + 1;
    ParallelFor(rows_, grain, [&](int64_t begin, int64_t end) {
      const Rows rows(x + begin * columns_, end - begin, columns_);
      Sums(out + begin, end - begin).device(device) =
          rows.template cast<double>()
              .sum(Eigen::array<Eigen::Index, 1>{1})
              .template cast<T>();
    });
  }

 private:
  static constexpr int64_t kTerms = 16384;  // a thread's minimum

  ReducedDims reduced_;
  int64_t rows_ = 0;
  int64_t columns_ = 0;
  DDim out_dims_;
};

// Each number is converted to double separately.
KernelWork RowSumsWork(const KernelQuery& query) {
  KernelWork work = DefaultKernelWork(query);
  const auto rows = static_cast<double>(query.outputs[0].numel());
  work.sums = static_cast<double>(query.inputs[0].numel());
  work.rows = rows;
  work.max_threads = std::max(rows, 1.0);
  return work;
}

}  // namespace

REGISTER_OP_KERNEL(reduce_sum,
                   EIGEN,
                   CPUPlace,
                   rows,
                   KernelTraits().Estimate(&RowSumsWork),
                   EigenRowSums<float>);

}  // namespace sluice::eigen
