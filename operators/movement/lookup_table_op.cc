#include <algorithm>

#include "sluice/operators/math/movement/gather.h"
#include "sluice/operators/movement/copy_kernel.h"
#include "sluice/operators/movement/scatter_add.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"

namespace sluice {
namespace {

DDim OutDims(const InferShapeContext& context) {
  const ShapeHandle w = context.WithRank(context.input("W"), 2);
  const ShapeHandle ids = context.input("Ids");
  const auto padding = context.Attr<int64_t>("padding_idx");
  const int64_t rows = context.Dim(w, 0).size;
  context.Require(rows < 0 || padding < rows, "lookup_table.padding_idx",
                  "attribute padding_idx = {} is no row of input W {}; "
                  "expected -1 for none, or 0 to {}",
                  padding, w.dims, rows - 1);
  if (!ids.dims.rank_known()) return DDim::UnknownRank();
  DDim out = ids;
  if (out.rank() > 1 && out[out.rank() - 1] == 1 &&
      context.Attr<bool>("drop_last_dim")) {
    out.RemoveDimRange(out.rank() - 1, out.rank());
  }
  context.Require(out.rank() < DDim::kMaxRank, "lookup_table.rank",
                  "the rows for input Ids {} would have rank {}; expected at "
                  "most {}",
                  ids.dims, out.rank() + 1, DDim::kMaxRank);
  out.InsertDim(out.rank(), context.Dim(w, 1).size);
  return out;
}

// One row for each id.
void LookupTableGradRowsShape(InferShapeContext& context) {
  const ShapeHandle grad =
      context.Merge(context.input("Out@GRAD"), {OutDims(context), -1});
  int64_t rows = 1;
  for (int axis = 0; axis + 1 < grad.dims.rank(); ++axis) {
    const int64_t size = grad.dims[axis];
    rows = rows < 0 || size < 0 ? kUnknownDim : rows * size;
  }
  if (!grad.dims.rank_known()) rows = kUnknownDim;
  context.SetOutput("W@GRAD",
                    DDim({rows, context.Dim(context.input("W"), 1).size}));
  context.SetOutput("Rows", DDim({rows}));
}

void LookupTableSchema(OpSchema& op);

constexpr GradientOp kLookupTableGrad = {
    .forward = LookupTableSchema,
    .doc =
        "The gradient of lookup_table's W: for each row the sum of the "
        "gradients of Out where it was picked, from the first to the last.",
    .inputs = {ShapeOf("W"), "Ids"},
    .wanted = {"W"},
    .without = {"is_sparse"},
    .dims = OutDims};

constexpr GradientOp kLookupTableGradRows = {
    .forward = LookupTableSchema,
    .doc =
        "The gradient of lookup_table's W as the rows that were picked: "
        "W@GRAD, [N, D], is Out@GRAD with a row for each of the N ids. Row "
        "Rows[i] of the table has the sum of all rows i of W@GRAD that it "
        "names.",
    .suffix = "_grad_rows",
    .inputs = {ShapeOf("W"), "Ids"},
    .wanted = {"W"},
    .without = {"is_sparse"},
    .shape = LookupTableGradRowsShape,
    .add = [](OpSchema& op) {
      op.Output("Rows", "int64", "[N]: the ids, and -1 for padding_idx.");
      op.Alias("W@GRAD", "Out@GRAD").SparseRows("W@GRAD", "Rows");
    }};

std::vector<OpDesc> LookupTableGradient(const OpDesc& forward) {
  if (!std::get<bool>(forward.attributes.at("is_sparse"))) {
    return {MakeGradient(forward, kLookupTableGrad)};
  }
  OpDesc sparse = MakeGradient(forward, kLookupTableGradRows);
  const std::string& grad = sparse.outputs[0].second[0];
  sparse.outputs.push_back({"Rows", {grad + "@ROWS"}});
  return {std::move(sparse)};
}

void LookupTableSchema(OpSchema& op) {
  op.Family("embedding");
  op.Doc("Picks rows of a table: Out[i, ...] = W[Ids[i], ...].");
  op.TypeVar("T", FloatDTypes()).TypeVar("S", IndexDTypes());
  op.Input("W", "T", "[V, D]: the table.");
  op.Input("Ids", "S",
           "[..., 1] or [...]: rows of W, 0 to V - 1; checked when the op "
           "runs.");
  op.Output("Out", "T", "[..., D]: the rows.");
  op.Attr<int64_t>("padding_idx",
                   "The id of rows that are all 0 in Out and learn nothing; "
                   "-1 for none.")
      .Default(int64_t{-1})
      .AtLeast(-1);
  op.Attr<bool>("drop_last_dim",
                "A last dimension of Ids of size 1 is no dimension of Out. "
                "False where its size is known only when the program runs.")
      .Default(true);
  op.Attr<bool>("is_sparse", "The gradient of W is sparse: a row for each id.")
      .Default(false);
  op.InferShape(OutShape<OutDims>).Gradient(LookupTableGradient);
  op.SharesRows("Out", {"Ids"});
  op.Sizes({{"W", "1000, n"}, {"Ids", "64, 1"}});
}

// Returns the ids. Raises OutOfRange for an id that is no row of W.
template <typename Index>
const Index* ReadIds(const OpKernelContext& context,
                     const Tensor& ids,
                     int64_t rows) {
  const auto* values = ids.data<Index>();
  const int64_t outside = FindOutside(values, ids.numel(), rows);
  SLUICE_ENFORCE(outside < 0, ErrorCode::kOutOfRange, "lookup_table.id_range",
                 "{}: input Ids {} has {} as element {}; expected a row of "
                 "input W, 0 to {}",
                 context.op(), ids.dims(), values[outside], outside, rows - 1);
  return values;
}

template <typename T>
class LookupTableKernel final : public OpKernel {
 public:
  explicit LookupTableKernel(const OpKernelConstruction& construction)
      : padding_(construction.Attr<int64_t>("padding_idx")) {}

  void Prepare(KernelPreparation& preparation) override {
    w_dims_ = preparation.query.inputs[0];
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    VisitIndex(context.Input(1).dtype(),
               [&]<typename Index>() { ComputeWith<Index>(context); });
  }

 private:
  template <typename Index>
  void ComputeWith(OpKernelContext& context) const {
    const Tensor& ids = context.Input(1);
    const Index* index = ReadIds<Index>(context, ids, w_dims_[0]);
    Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return;
    const int64_t width = w_dims_[1];
    T* rows = out.data<T>();
    Gather(context.Input(0).data<T>(), index, 1, w_dims_[0], ids.numel(),
           static_cast<size_t>(width) * sizeof(T), rows);
    if (padding_ < 0) return;
    for (int64_t i = 0; i < ids.numel(); ++i) {
      if (index[i] == padding_) std::fill_n(rows + i * width, width, T{0});
    }
  }

  int64_t padding_;
  DDim w_dims_;
  DDim out_dims_;
};

template <typename T>
class LookupTableGradKernel final : public OpKernel {
 public:
  explicit LookupTableGradKernel(const OpKernelConstruction& construction)
      : padding_(construction.Attr<int64_t>("padding_idx")) {}

  void Prepare(KernelPreparation& preparation) override {
    w_dims_ = preparation.query.inputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    VisitIndex(context.Input(1).dtype(),
               [&]<typename Index>() { ComputeWith<Index>(context); });
  }

 private:
  template <typename Index>
  void ComputeWith(OpKernelContext& context) const {
    const Tensor& ids = context.Input(1);
    const Index* index = ReadIds<Index>(context, ids, w_dims_[0]);
    Tensor& grad = context.AllocateOutput(0, w_dims_);
    if (grad.numel() == 0) return;
    const int64_t width = w_dims_[1];
    ScatterAdd(context.Input(2).data<T>(), index, 1, w_dims_[0], ids.numel(),
               width, grad.data<T>());
    if (padding_ >= 0) {
      std::fill_n(grad.data<T>() + padding_ * width, width, T{0});
    }
  }

  int64_t padding_;
  DDim w_dims_;
};

template <typename T>
class LookupTableGradRowsKernel final : public CopyKernel<2> {
 public:
  explicit LookupTableGradRowsKernel(const OpKernelConstruction& construction)
      : CopyKernel<2>(construction),
        padding_(construction.Attr<int64_t>("padding_idx")) {}

  void Prepare(KernelPreparation& preparation) override {
    CopyKernel<2>::Prepare(preparation);
    table_rows_ = preparation.query.inputs[0][0];
    rows_dims_ = preparation.query.outputs[1];
  }

  void Compute(OpKernelContext& context) const override {
    CopyKernel<2>::Compute(context);
    VisitIndex(context.Input(1).dtype(), [&]<typename Index>() {
      const Tensor& ids = context.Input(1);
      const Index* index = ReadIds<Index>(context, ids, table_rows_);
      auto* rows = context.AllocateOutput(1, rows_dims_).data<int64_t>();
      std::transform(index, index + ids.numel(), rows, [&](Index id) {
        return id == padding_ ? int64_t{-1} : static_cast<int64_t>(id);
      });
    });
  }

 private:
  int64_t padding_;
  int64_t table_rows_ = 0;
  DDim rows_dims_;
};

}  // namespace

REGISTER_OPERATOR(lookup_table, LookupTableSchema);
REGISTER_OPERATOR(lookup_table_grad, GradientSchema<kLookupTableGrad>);
REGISTER_OPERATOR(lookup_table_grad_rows, GradientSchema<kLookupTableGradRows>);
REGISTER_OP_CPU_KERNEL(lookup_table_grad_rows,
                       LookupTableGradRowsKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(lookup_table,
                       EstimatedBy<&PickingWork>,
                       LookupTableKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(lookup_table_grad, LookupTableGradKernel<FloatTypes>);

}  // namespace sluice
