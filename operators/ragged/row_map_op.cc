#include <numeric>

#include "sluice/operators/ragged/row_map.h"

namespace sluice {
namespace {

// Further inputs and attributes.
void OnlyOffsets(OpSchema& op) {
  OffsetsInput(op);
}

void ExpandAsInputs(OpSchema& op) {
  op.Input("Y", "S", "[N, ...], ragged: Out has its sequences.",
           {.shape_only = true});
  op.TypeVar("S", AllDTypes());
  OffsetsInput(op, "Y");
  op.PerSequence("X", "Offsets");
}

void ExpandInputs(OpSchema& op) {
  op.Input("Y", "S", "[M, ...], ragged: its sequences say how often.",
           {.shape_only = true});
  op.TypeVar("S", AllDTypes());
  OffsetsInput(op);
  OffsetsInput(op, "Y", "YOffsets");
  op.Attr<bool>("of_offsets",
                "Y are offsets themselves: it has one more than sequences.")
      .Default(false);
}

void SliceInputs(OpSchema& op) {
  OffsetsInput(op);
  op.Input("Offset", "int64", "[B, 1]: the first row of each slice.",
           {.host = true});
  op.Input("Length", "int64", "[B, 1]: the number of its rows.",
           {.host = true});
}

void PadInputs(OpSchema& op) {
  OffsetsInput(op);
  op.Input("PadValue", "T", "One element, or a row of X: what follows ends.");
}

// A size of Out that may be known late: only the forward op has it.
void LateSizes(std::string_view name, OpSchema& op) {
  if (name == "sequence_expand") {
    op.Attr<int64_t>("capacity", "The rows of Out with padding.").AtLeast(0);
    op.Operand("Capacity", "capacity", "int64",
               "Attribute capacity as one element, as sequence_expand_rows "
               "computes it.");
  } else if (name == "sequence_pad") {
    op.Attr<int64_t>("padded_length", "T, at least that of each sequence.")
        .AtLeast(0);
    op.Operand("PaddedLength", "padded_length", "int64",
               "Attribute padded_length as one element.");
  } else if (name == "sequence_rows") {
    op.Attr<int64_t>("rows",
                     "The rows of Out: the last of Offsets, or more, "
                     "which repeat the last row.")
        .AtLeast(0);
    op.Operand("Rows", "rows", "int64", "Attribute rows as one element.");
  }
}

// Returns that size, in the gradient op from the gradient of Out.
int64_t LateSize(const InferShapeContext& context,
                 const char* attribute,
                 int axis) {
  if (!context.op().ends_with("_grad")) return context.Attr<int64_t>(attribute);
  const DDim grad = context.input("Out@GRAD");
  return grad.rank_known() && grad.rank() > axis ? grad[axis] : kUnknownDim;
}

void UnpadInputs(OpSchema& op) {
  op.Input("Length", "int64", "[B]: the rows of each sequence, 0 to T.",
           {.host = true});
}

void ConcatInputs(OpSchema& op) {
  OffsetsInput(op, "X", "Offsets", true);
}

void ContextInputs(OpSchema& op) {
  OffsetsInput(op);
  op.Attr<int64_t>("start", "The first row of a window, from its own row on.")
      .AtLeast(-(1 << 20))
      .AtMost(1 << 20);
  op.Attr<int64_t>("length", "The rows of a window.")
      .AtLeast(1)
      .AtMost(1 << 20);
}

void EnumerateInputs(OpSchema& op) {
  OffsetsInput(op);
  op.Attr<int64_t>("win_size", "The elements of a window.")
      .AtLeast(1)
      .AtMost(1 << 20);
  op.Attr<int64_t>("pad_value", "What is past the end.").Default(int64_t{0});
}

void EraseInputs(OpSchema& op) {
  OffsetsInput(op);
  op.Attr<Ints>("tokens", "What is left out.");
}

void ReshapeInputs(OpSchema& op) {
  OffsetsInput(op);
  op.Attr<int64_t>("new_dim", "The elements of a row of Out.")
      .AtLeast(1)
      .AtMost(1 << 30);
}

void ImageInputs(OpSchema& op) {
  op.Attr<Ints>("kernels", "Height and width of a window.")
      .AtLeast(1)
      .AtMost(1 << 20);
  op.Attr<Ints>("strides", "From one window to the next: down, across.")
      .Default(Ints{1, 1})
      .AtLeast(1)
      .AtMost(1 << 20);
  op.Attr<Ints>("paddings", "Zeros around the image: up, left, down, right.")
      .Default(Ints{0, 0, 0, 0})
      .AtLeast(0)
      .AtMost(1 << 20);
}

// Further outputs.
void SameRows(OpSchema& op) {
  op.Ragged("Out", "Offsets");
}
void NewRows(OpSchema& op) {
  OffsetsOutput(op);
}
void NestedRows(OpSchema& op) {
  OffsetsOutput(op);
  op.Ragged("OutOffsets", "YOffsets");
}
void DenseRows(OpSchema& /*op*/) {}
void PadLengths(OpSchema& op) {
  op.Output("Length", "int64", "[B]: the rows of each sequence.");
  op.PerSequence("Out", "Offsets").PerSequence("Length", "Offsets");
}

// Shapes of Out.
DDim SameShape(const InferShapeContext& context) {
  SequenceCount(context);
  return RowsOf(context);
}

DDim ExpandAsShape(const InferShapeContext& context) {
  const DDim x = RowsOf(context);
  const DDim y = RowsOf(context, "Y");
  const int64_t count = SequenceCount(context, "Offsets", "Y");
  // It may have fewer if the last sequences are padding: see the map.
  context.Require(!x.rank_known() || x[0] < 0 || count < 0 || x[0] <= count,
                  "sequence_expand_as.rows",
                  "input X {} must have a row for each of the {} sequences of "
                  "Y",
                  x, count);
  return WithRowCount(x, y.rank_known() ? y[0] : kUnknownDim);
}

DDim ExpandShape(const InferShapeContext& context) {
  const int64_t count = SequenceCount(context);
  const int64_t times = SequenceCount(context, "YOffsets", "Y");
  context.Require(count < 0 || times < 0 || count == times,
                  "sequence_expand.count",
                  "Offsets cut X into {} sequences, YOffsets cut Y into {}; "
                  "expected as many",
                  count, times);
  RowsOf(context, "Y");
  return WithRowCount(RowsOf(context), LateSize(context, "capacity", 0));
}

DDim RowsShape(const InferShapeContext& context) {
  SequenceCount(context);
  return WithRowCount(RowsOf(context), LateSize(context, "rows", 0));
}

DDim SliceShape(const InferShapeContext& context) {
  const int64_t count = SequenceCount(context);
  for (const char* name : {"Offset", "Length"}) {
    const DDim dims = context.input(name);
    context.Require(
        !dims.known() || count < 0 || dims.numel() == count,
        "sequence_slice.count",
        "input {} {} must have one element for each of the {} sequences", name,
        dims, count);
  }
  return RowsOf(context);
}

DDim PadShape(const InferShapeContext& context) {
  DDim out = RowsOf(context);
  const int64_t count = SequenceCount(context);
  const DDim value = context.input("PadValue");
  if (!out.rank_known()) return out;
  context.Require(out.rank() < DDim::kMaxRank, "sequence_pad.rank",
                  "input X {} has no room for another dim", out);
  const DDim row = WithRowCount(out, 1);
  context.Require(!value.known() || !row.known() || value.numel() == 1 ||
                      value.numel() == row.numel(),
                  "sequence_pad.value",
                  "input PadValue {} must have one element, or the {} of a row "
                  "of X",
                  value, row.known() ? row.numel() : -1);
  out[0] = count;
  out.InsertDim(1, LateSize(context, "padded_length", 1));
  return out;
}

DDim UnpadShape(const InferShapeContext& context) {
  DDim out = context.WithRankAtLeast(context.input("X"), 2);
  const ShapeHandle length = context.WithRank(context.input("Length"), 1);
  if (!out.rank_known()) return out;
  context.Merge(context.Dim(context.input("X"), 0), context.Dim(length, 0));
  const int64_t rows = out[0] < 0 || out[1] < 0 ? -1 : out[0] * out[1];
  out.RemoveDimRange(0, 1);
  return WithRowCount(out, rows);
}

DDim UnpadAsShape(const InferShapeContext& context) {
  DDim out = context.WithRankAtLeast(context.input("X"), 2);
  const DDim y = RowsOf(context, "Y");
  const int64_t count = SequenceCount(context, "Offsets", "Y");
  context.Require(
      !out.rank_known() || out[0] < 0 || count < 0 || out[0] == count,
      "sequence_unpad_as.count",
      "input X {} must have one element along dim 0 for each of the {} "
      "sequences of Y",
      out, count);
  if (!out.rank_known()) return out;
  out.RemoveDimRange(0, 1);
  return WithRowCount(out, y.rank_known() ? y[0] : kUnknownDim);
}

DDim ConcatShape(const InferShapeContext& context) {
  const auto inputs = context.inputs("X");
  SequenceCount(context);
  const auto offsets = context.inputs("Offsets");
  context.Require(offsets.size() == inputs.size(), "sequence_concat.offsets",
                  "there are {} inputs X and {} Offsets; expected as many",
                  inputs.size(), offsets.size());
  DDim out = context.WithRankAtLeast(inputs[0], 1);
  ShapeHandle count = offsets[0];
  int64_t rows = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const DDim x = context.WithRankAtLeast(inputs[i], 1);
    count = context.Merge(count, offsets[i]);
    if (!x.rank_known()) return DDim::UnknownRank();
    out = context.Merge({WithRowCount(out, -1), -1}, {WithRowCount(x, -1), -1});
    rows = rows < 0 || x[0] < 0 ? -1 : rows + x[0];
  }
  return WithRowCount(out, rows);
}

DDim ContextShape(const InferShapeContext& context) {
  DDim out = context.WithRank(context.input("X"), 2);
  SequenceCount(context);
  if (!out.rank_known()) return {-1, -1};
  if (out[1] >= 0) out[1] *= context.Attr<int64_t>("length");
  return out;
}

DDim EnumerateShape(const InferShapeContext& context) {
  const DDim x = RowsOf(context);
  SequenceCount(context);
  if (!x.rank_known()) return {-1, context.Attr<int64_t>("win_size")};
  context.Require(!x.known() || RowWidth(x) == 1, "sequence_enumerate.width",
                  "input X must be [N] or [N, 1], got {}", x);
  return {x[0], context.Attr<int64_t>("win_size")};
}

DDim EraseShape(const InferShapeContext& context) {
  const DDim x = RowsOf(context);
  SequenceCount(context);
  context.Require(!x.known() || RowWidth(x) == 1, "sequence_erase.width",
                  "input X must be [N] or [N, 1], got {}", x);
  return x;
}

DDim ReshapeShape(const InferShapeContext& context) {
  const DDim x = context.WithRank(context.input("X"), 2);
  SequenceCount(context);
  const auto columns = context.Attr<int64_t>("new_dim");
  if (!x.rank_known() || !x.known()) return {-1, columns};
  context.Require(x[1] > 0, "sequence_reshape.width",
                  "input X {} has rows of no elements", x);
  return {x.numel() / columns, columns};
}

DDim ImageShape(const InferShapeContext& context) {
  const DDim x = context.WithRank(context.input("X"), 4);
  const auto& kernels = context.Attr<Ints>("kernels");
  const auto& strides = context.Attr<Ints>("strides");
  const auto& pads = context.Attr<Ints>("paddings");
  context.Require(
      kernels.size() == 2 && strides.size() == 2 && pads.size() == 4,
      "im2sequence.sizes",
      "attributes kernels, strides and paddings must have 2, 2 and 4 numbers, "
      "got {}, {} and {}",
      kernels.size(), strides.size(), pads.size());
  if (!x.rank_known()) return {-1, -1};
  int64_t rows = x[0];
  for (const size_t axis : {0, 1}) {
    const int64_t size = x[static_cast<int>(axis) + 2];
    const int64_t around = pads[axis] + pads[axis + 2];
    context.Require(size < 0 || size + around >= kernels[axis],
                    "im2sequence.kernel",
                    "a window of {} is larger than dim {} of X {} with {} "
                    "zeros around",
                    kernels[axis], axis + 2, x, around);
    const int64_t count =
        WindowCount(size, kernels[axis], strides[axis], around);
    rows = rows < 0 || size < 0 ? -1 : rows * count;
  }
  return {rows, x[1] < 0 ? -1 : x[1] * kernels[0] * kernels[1]};
}

// Shapes of the second output.
DDim CountPlusOne(const InferShapeContext& context, const DDim& /*out*/) {
  const int64_t count = SequenceCount(context);
  return {count < 0 ? -1 : count + 1};
}
DDim ExpandedOffsets(const InferShapeContext& context, const DDim& /*out*/) {
  const DDim y = RowsOf(context, "Y");
  const int64_t rows = y.rank_known() ? y[0] : -1;
  return {rows < 0 || context.Attr<bool>("of_offsets") ? rows : rows + 1};
}
DDim Counts(const InferShapeContext& context, const DDim& /*out*/) {
  return {SequenceCount(context)};
}
DDim BatchPlusOne(const InferShapeContext& context, const DDim& /*out*/) {
  const DDim x = context.input("X");
  return {!x.rank_known() || x[0] < 0 ? -1 : x[0] + 1};
}

// Widths, and rows of the map for one of Out.
int64_t RowOfX(const DDim& x, const DDim& /*out*/) {
  return RowWidth(x);
}
int64_t RowOfBatch(const DDim& x, const DDim& /*out*/) {
  int64_t width = 1;
  for (int axis = 2; axis < x.rank(); ++axis) {
    width *= x[axis];
  }
  return width;
}
int64_t OneElement(const DDim& /*x*/, const DDim& /*out*/) {
  return 1;
}
int64_t CommonPart(const DDim& x, const DDim& out) {
  return std::gcd(x[1], out[1]);
}
int64_t One(const DDim& /*x*/, const DDim& /*out*/) {
  return 1;
}
int64_t WindowsOfOut(const DDim& x, const DDim& out) {
  const int64_t width = RowWidth(x);
  return width == 0 ? 1 : RowWidth(out) / width;
}
int64_t PartsOfOut(const DDim& x, const DDim& out) {
  return out[1] / CommonPart(x, out);
}

constexpr const char* kRows = "[N, ...]: ragged rows.";

constexpr RowMapRow kMaps[] = {
    {"sequence_reverse", "Each sequence of X from its last row to its first.",
     kRows, "In X's shape.", false, true, AllDTypes, OnlyOffsets, SameRows,
     SameShape, nullptr, RowOfX, MapReverse, One},
    {"sequence_expand_as", "Row b of X as often as sequence b of Y has rows.",
     "[B, ...].", "[N, ...]: ragged as Y.", false, true, AllDTypes,
     ExpandAsInputs, SameRows, ExpandAsShape, nullptr, RowOfX, MapExpandAs,
     One},
    {"sequence_expand",
     "Sequence b of X as often as sequence b of Y has rows. Out is ragged in "
     "two levels: the copies, and for each sequence of Y its copies.",
     kRows, "[capacity, ...].", false, true, AllDTypes, ExpandInputs,
     NestedRows, ExpandShape, ExpandedOffsets, RowOfX, MapExpand, One},
    {"sequence_rows",
     "The rows of X without the padding behind them, as a dense tensor.", kRows,
     "[rows, ...].", false, true, AllDTypes, OnlyOffsets, DenseRows, RowsShape,
     nullptr, RowOfX, MapRows, One},
    {"sequence_slice",
     "Of each sequence of X the Length rows from row Offset on.", kRows,
     "In X's shape; with fewer true rows.", false, true, AllDTypes, SliceInputs,
     NewRows, SliceShape, CountPlusOne, RowOfX, MapSlice, One},
    {"sequence_pad",
     "Ragged rows as a dense tensor: sequence b is Out[b], up to its length.",
     kRows, "[B, T, ...].", false, true, AllDTypes, PadInputs, PadLengths,
     PadShape, Counts, RowOfX, MapPad, One},
    {"sequence_unpad",
     "The rows X[b, t] with t below Length[b], one after the other: what "
     "sequence_pad was given.",
     "[B, T, ...].", "[B * T, ...]: ragged rows.", false, true, AllDTypes,
     UnpadInputs, NewRows, UnpadShape, BatchPlusOne, RowOfBatch, MapUnpad, One},
    {"sequence_unpad_as",
     "The rows X[b, t] with t below the length of sequence b of Y, one after "
     "the other.",
     "[B, T, ...].", "[N, ...]: ragged as Y.", false, true, AllDTypes,
     ExpandAsInputs, SameRows, UnpadAsShape, nullptr, RowOfBatch, MapUnpadAs,
     One},
    {"sequence_concat",
     "Sequence b of Out is sequence b of each X, one after the other.",
     "[N, ...]: ragged rows, of as many sequences.",
     "[the sum of N, ...]: ragged rows.", true, true, AllDTypes, ConcatInputs,
     NewRows, ConcatShape, CountPlusOne, RowOfX, MapConcat, One},
    {"sequence_context",
     "For each row a window of rows side by side, zeros where it is past the "
     "sequence: times a filter, a convolution (sequence_conv).",
     "[N, D]: ragged rows.", "[N, length * D].", false, true, AllDTypes,
     ContextInputs, SameRows, ContextShape, nullptr, RowOfX, MapContext,
     WindowsOfOut},
    {"sequence_enumerate",
     "For each element the win_size elements from it on, pad_value past the "
     "end of its sequence.",
     "[N] or [N, 1]: ragged.", "[N, win_size].", false, false, IndexDTypes,
     EnumerateInputs, SameRows, EnumerateShape, nullptr, OneElement,
     MapEnumerate, WindowsOfOut},
    {"sequence_erase", "The sequences without the elements of `tokens`.",
     "[N] or [N, 1]: ragged.", "In X's shape; with fewer true rows.", false,
     false, IndexDTypes, EraseInputs, NewRows, EraseShape, CountPlusOne, RowOfX,
     MapErase, One},
    {"sequence_reshape",
     "The elements of each sequence as rows of new_dim elements.",
     "[N, D]: ragged rows.", "[N * D / new_dim, new_dim].", false, true,
     AllDTypes, ReshapeInputs, NewRows, ReshapeShape, CountPlusOne, CommonPart,
     MapReshape, PartsOfOut},
    {"im2sequence",
     "Each image as a sequence: a row for each window, from left to right and "
     "top to bottom, with the window's elements, channel by channel.",
     "[B, C, H, W].", "[B * windows, C * height * width]: ragged rows.", false,
     true, AllDTypes, ImageInputs, NewRows, ImageShape, BatchPlusOne,
     OneElement, MapImage, One},
};

std::string GradOf(const std::string& name) {
  return name + "_grad";
}

void ForwardShape(InferShapeContext& context) {
  const RowMapRow& row = RowMapOf(context.op());
  const DDim out = row.shape(context);
  context.SetOutput("Out", out);
  if (row.second_shape != nullptr) {
    context.SetOutput(1, row.second_shape(context, out));
  }
}

// While capacity, padded_length or rows are unknown.
void LateShape(InferShapeContext& context) {
  DDim out = RowsOf(context);
  const int64_t count = SequenceCount(context);
  const bool pads = context.op() == "sequence_pad";
  if (out.rank_known()) {
    out[0] = pads ? count : kUnknownDim;
    if (pads) out.InsertDim(1, kUnknownDim);
  }
  context.SetOutput("Out", out);
  if (RowMapOf(context.op()).second_shape == nullptr) return;
  context.SetOutput(
      1, pads ? DDim{count} : ExpandedOffsets(context, DDim::UnknownRank()));
}

void GradShape(InferShapeContext& context) {
  context.Merge(context.input("Out@GRAD"),
                {RowMapOf(context.op()).shape(context), -1});
  const auto inputs = context.inputs("X");
  for (size_t i = 0; i < inputs.size(); ++i) {
    context.SetOutput("X@GRAD", inputs[i], static_cast<int>(i));
  }
}

std::vector<OpDesc> RowMapGradient(const OpDesc& forward) {
  std::vector<std::string> inputs;
  for (const auto& [name, unused] : forward.inputs) {
    const bool late =
        name == "Capacity" || name == "PaddedLength" || name == "Rows";
    if (!late) inputs.push_back(name);
  }
  OpDesc grad =
      MakeGradOp(forward, GradOf(forward.type),
                 {.inputs = inputs, .output_grads = {"Out"}, .wanted = {"X"}});
  for (const char* late : {"capacity", "padded_length", "rows"}) {
    grad.attributes.erase(late);
  }
  return {grad};
}

void AddRowMapOps(Registry& registry) {
  for (const RowMapRow& row : kMaps) {
    registry.AddOperator(row.name, [&](OpSchema& op) {
      op.Doc(row.doc);
      op.TypeVar("T", row.dtypes());
      op.Input("X", "T", row.x_doc, {.variadic = row.variadic});
      row.inputs(op);
      LateSizes(row.name, op);
      op.Output("Out", "T", row.out_doc);
      row.outputs(op);
      op.InferShape(ForwardShape).InferLateShape(LateShape);
      if (row.gradient) op.Gradient(RowMapGradient);
    });
    if (!row.gradient) continue;
    registry.AddOperator(GradOf(row.name), [&](OpSchema& op) {
      op.Doc(std::string("The gradient of ") + row.name +
             ": that of each row of X is the sum over the rows of Out that it "
             "is.");
      op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
      op.Input("X", "T", row.x_doc,
               {.variadic = row.variadic, .shape_only = true});
      row.inputs(op);
      op.Input("Out@GRAD", "T", "The gradient of Out, in its shape.");
      op.Output("X@GRAD", "T", "The gradient of X, in its shape.",
                {.variadic = row.variadic});
      op.InferShape(GradShape);
    });
  }
}

}  // namespace

std::span<const RowMapRow> RowMaps() {
  return kMaps;
}

const RowMapRow& RowMapOf(std::string_view op) {
  for (const RowMapRow& row : kMaps) {
    if (op == row.name || op == GradOf(row.name)) return row;
  }
  Raise(ErrorCode::kInternal, "row_map.unknown", "{} is no row map", op);
}

REGISTER_TABLE(row_map_ops, AddRowMapOps);

}  // namespace sluice
