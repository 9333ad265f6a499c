#include <algorithm>

#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/ragged/sequences.h"

namespace sluice {
namespace {

void CheckRows(const InferShapeContext& context, const ShapeHandle& x) {
  const int64_t count = SequenceCount(context, "Offsets", "Ids");
  const DDim ids = RowsOf(context, "Ids");
  context.Require(!ids.known() || RowWidth(ids) == 1, "sequence_scatter.ids",
                  "input Ids must be [N] or [N, 1], got {}", ids);
  const DDim& dims = x;
  context.Require(
      !dims.rank_known() || dims[0] < 0 || count < 0 || dims[0] == count,
      "sequence_scatter.rows",
      "input X {} must have a row for each of the {} sequences of "
      "Ids",
      dims, count);
}

void ScatterShape(InferShapeContext& context) {
  const ShapeHandle x = context.WithRank(context.input("X"), 2);
  CheckRows(context, x);
  const DDim updates = RowsOf(context, "Updates");
  const DDim ids = RowsOf(context, "Ids");
  context.Require(
      !updates.known() || !ids.known() || updates.numel() == ids.numel(),
      "sequence_scatter.updates",
      "inputs Updates {} and Ids {} must have as many elements", updates, ids);
  context.SetOutput("Out", x);
}

void ScatterGradShape(InferShapeContext& context) {
  const ShapeHandle grad = context.WithRank(context.input("Out@GRAD"), 2);
  CheckRows(context, grad);
  context.SetOutput("Updates@GRAD", context.input("Updates"));
}

void ScatterSchema(OpSchema& op);

constexpr GradientOp kSequenceScatterGrad = {
    .forward = ScatterSchema,
    .doc = "The gradient of sequence_scatter's Updates; 0 for padding.",
    .inputs = {"Ids", "Offsets", ShapeOf("Updates")},
    .wanted = {"Updates"},
    .shape = ScatterGradShape};

// The gradient of X is that of Out.
std::vector<OpDesc> ScatterGradient(const OpDesc& forward) {
  return {GradientThrough(forward, forward.Input("X")[0], "assign", {}),
          MakeGradient(forward, kSequenceScatterGrad)};
}

void ScatterSchema(OpSchema& op) {
  op.Doc("Out = X, plus Updates[i] at column Ids[i] of its sequence's row.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("X", "T", "[B, D].");
  op.Input("Ids", "S", "[N] or [N, 1], ragged: a column of X for each update.",
           {.host = true});
  op.TypeVar("S", IndexDTypes());
  OffsetsInput(op, "Ids");
  op.Input("Updates", "T", "[N] or [N, 1], ragged as Ids.");
  op.Output("Out", "T", "In X's shape.");
  op.Ragged("Updates", "Offsets").PerSequence("X", "Offsets");
  op.PerSequence("Out", "Offsets");
  op.InferShape(ScatterShape).Gradient(ScatterGradient);
}

// Calls visit(i, place in [B, columns]) for each update.
template <typename Visit>
void ForEachUpdate(const OpKernelContext& context,
                   int64_t columns,
                   int64_t updates,
                   const Visit& visit) {
  const Tensor& ids = context.Input("Ids");
  const Sequences cut =
      CheckedSequences(context, context.Input("Offsets"), ids.dims()[0], "Ids");
  SLUICE_ENFORCE(cut.rows() <= updates, ErrorCode::kInvalidArgument,
                 "sequence_scatter.fewer_updates",
                 "{}: Offsets end at {}; Updates has {} elements", context.op(),
                 cut.rows(), updates);
  VisitIndex(ids.dtype(), [&]<typename S>() {
    const S* at = ids.data<S>();
    for (int64_t b = 0; b < cut.count; ++b) {
      for (int64_t i = cut.begin(b); i < cut.end(b); ++i) {
        SLUICE_ENFORCE(at[i] >= 0 && at[i] < columns, ErrorCode::kOutOfRange,
                       "sequence_scatter.id",
                       "{}: Ids[{}] = {}; expected 0 to {}, the columns of X",
                       context.op(), i, at[i], columns - 1);
        visit(i, b * columns + at[i]);
      }
    }
  });
}

template <typename T>
class SequenceScatterKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    Tensor& out = context.AllocateOutput(0, x.dims());
    T* to = out.data<T>();
    std::copy_n(x.data<T>(), x.numel(), to);
    const Tensor& given = context.Input("Updates");
    const T* updates = given.data<T>();
    ForEachUpdate(context, x.dims()[1], given.numel(),
                  [&](int64_t i, int64_t at) { to[at] += updates[i]; });
  }
};

template <typename T>
class SequenceScatterGradKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    updates_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& grad = context.AllocateOutput(0, updates_);
    FillZero(grad.raw_data(), grad.bytes());
    T* to = grad.data<T>();
    const Tensor& out_grad = context.Input("Out@GRAD");
    const T* from = out_grad.data<T>();
    ForEachUpdate(context, out_grad.dims()[1], grad.numel(),
                  [&](int64_t i, int64_t at) { to[i] = from[at]; });
  }

 private:
  DDim updates_;
};

}  // namespace

REGISTER_OPERATOR(sequence_scatter, ScatterSchema);
REGISTER_OPERATOR(sequence_scatter_grad, GradientSchema<kSequenceScatterGrad>);
REGISTER_OP_CPU_KERNEL(sequence_scatter, SequenceScatterKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(sequence_scatter_grad,
                       SequenceScatterGradKernel<FloatTypes>);

}  // namespace sluice
