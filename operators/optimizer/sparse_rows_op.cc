#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "sluice/operators/math/movement/merged_rows.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/sparse_rows.h"
#include "sluice/platform/parallel_for.h"

// Ops on sparse gradients (VarDesc::rows): row Rows[i] of a parameter has the
// sum of all rows i of X that name it.
namespace sluice {
namespace {

void SparseInputs(OpSchema& op) {
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T", "[N, ...]: the rows.");
  op.Input("Rows", "int64", "[N]: the row that each is added to, -1 for none.");
  op.NoGradient("it takes a gradient, and there are none of gradients");
}

void MergeRowsShape(InferShapeContext& context) {
  const ShapeHandle x = SparseRowsOf(context, "X", "X");
  context.SetOutput("Out", x);
  context.SetOutput("RowsOut",
                    DDim({x.dims.rank_known() ? x.dims[0] : kUnknownDim}));
}

void RowsToDenseShape(InferShapeContext& context) {
  SparseRowsOf(context, "X", "Like");
  context.SetOutput("Out", context.input("Like"));
}

void MergeRowsSchema(OpSchema& op) {
  op.Doc(
      "Adds up the rows of a sparse gradient that belong to the same row of "
      "the parameter, from the first to the last.");
  SparseInputs(op);
  op.Output("Out", "T", "[N, ...]: the sums, then rows of 0.");
  op.Output("RowsOut", "int64",
            "[N]: their rows, ascending and each once, then -1.");
  op.InferShape(MergeRowsShape).SparseRows("Out", "RowsOut");
}

void RowsToDenseSchema(OpSchema& op) {
  op.Doc(
      "Makes a sparse gradient dense: row Rows[i] of Out has the sum of all "
      "rows i of X that name it, from the first to the last, or 0.");
  SparseInputs(op);
  op.Input("Like", "T", "[V, ...]: what it is the gradient of.",
           {.shape_only = true});
  op.Output("Out", "T", "[V, ...]: the dense gradient.");
  op.InferShape(RowsToDenseShape).Serves(OpRole::kDense);
}

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

REGISTER_OPERATOR(merge_rows, MergeRowsSchema);
REGISTER_OPERATOR(rows_to_dense, RowsToDenseSchema);
REGISTER_OP_CPU_KERNEL(merge_rows, MergeRowsKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(rows_to_dense, RowsToDenseKernel<FloatTypes>);

}  // namespace sluice
