#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "sluice/operators/math/movement/merged_rows.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

std::span<const int64_t> RowsOf(const Tensor& rows) {
  return {rows.data<int64_t>(), static_cast<size_t>(rows.numel())};
}

int64_t WidthOf(const Tensor& x) {
  return x.dims()[0] == 0 ? 0 : x.numel() / x.dims()[0];
}

template <typename T>
class MergeRowsKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const auto rows = RowsOf(context.Input(1));
    const int64_t outside =
        FindOutsideRow(rows, std::numeric_limits<int64_t>::max());
    SLUICE_ENFORCE(outside < 0, ErrorCode::kOutOfRange, "merge_rows.row_range",
                   "merge_rows: input Rows {} has {} as element {}; expected a "
                   "row of the parameter, or -1",
                   context.Input(1).dims(), rows[static_cast<size_t>(outside)],
                   outside);
    const int64_t height =
        rows.empty() ? 0 : *std::max_element(rows.begin(), rows.end()) + 1;
    const MergedRows merged = MergeRows(rows, height);
    T* out = context.AllocateOutput(0, x.dims()).template data<T>();
    auto* rows_out = context.AllocateOutput(1, context.Input(1).dims())
                         .template data<int64_t>();
    const int64_t width = WidthOf(x);
    const auto count = static_cast<int64_t>(merged.rows.size());
    ParallelFor(count, kGrain / std::max<int64_t>(1, width) + 1,
                [&](int64_t begin, int64_t end) {
                  for (int64_t k = begin; k < end; ++k) {
                    SumRows(x.data<T>(),
                            merged.PositionsOf(static_cast<size_t>(k)), width,
                            out + k * width);
                  }
                });
    std::copy(merged.rows.begin(), merged.rows.end(), rows_out);
    std::fill(rows_out + count, rows_out + rows.size(), int64_t{-1});
    std::fill(out + count * width, out + x.numel(), T{0});
  }
};

template <typename T>
class RowsToDenseKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const auto rows = RowsOf(context.Input(1));
    const int64_t outside = FindOutsideRow(rows, dims_[0]);
    SLUICE_ENFORCE(outside < 0, ErrorCode::kOutOfRange,
                   "rows_to_dense.row_range",
                   "rows_to_dense: input Rows {} has {} as element {}; "
                   "expected a row of input Like, 0 to {}, or -1",
                   context.Input(1).dims(), rows[static_cast<size_t>(outside)],
                   outside, dims_[0] - 1);
    T* out = context.AllocateOutput(0, dims_).template data<T>();
    std::fill_n(out, dims_.numel(), T{0});
    AddRowSums(x.data<T>(), rows, dims_[0], WidthOf(x), out);
  }

 private:
  DDim dims_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(merge_rows, MergeRowsKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(rows_to_dense, RowsToDenseKernel<FloatTypes>);

}  // namespace sluice
