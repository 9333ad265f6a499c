#include <algorithm>
#include <array>

#include "sluice/operators/holds_number.h"
#include "sluice/operators/math/broadcast.h"
#include "sluice/operators/movement/index_map.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/row_wise.h"
#include "sluice/operators/usual_shapes.h"

namespace sluice {
namespace {

// Requires attribute `name` to have `count` entries or none.
void RequireEntries(const InferShapeContext& context,
                    const char* name,
                    size_t count) {
  const size_t entries = context.Attr<Ints>(name).size();
  context.Require(entries == count || entries == 0, "slice.entries",
                  "attribute {} has {} entries; expected {}, as many as starts "
                  "has, or none",
                  name, entries, count);
}

DDim SlicedDims(const InferShapeContext& context) {
  const DDim x = context.input("X");
  const Ints& starts = context.Attr<Ints>("starts");
  const Ints& ends = context.Attr<Ints>("ends");
  const Ints& axes = context.Attr<Ints>("axes");
  const Ints& steps = context.Attr<Ints>("steps");
  context.Require(ends.size() == starts.size(), "slice.ends",
                  "attribute ends has {} entries; expected {}, as many as "
                  "starts has",
                  ends.size(), starts.size());
  RequireEntries(context, "axes", starts.size());
  RequireEntries(context, "steps", starts.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    context.Require(steps[i] != 0, "slice.step",
                    "steps[{}] = 0; expected a step forward or back", i);
  }
  if (!x.rank_known()) return x;
  context.Require(starts.size() <= static_cast<size_t>(x.rank()), "slice.rank",
                  "attribute starts has {} entries; input X {} has {} dims",
                  starts.size(), x, x.rank());
  DDim out = x;
  std::array<bool, DDim::kMaxRank> seen{};
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t given = axes.empty() ? static_cast<int64_t>(i) : axes[i];
    context.Require(given >= -x.rank() && given < x.rank(), "slice.axis",
                    "axes[{}] = {}; expected a dim of input X {}, from {} to "
                    "{}",
                    i, given, x, -x.rank(), x.rank() - 1);
    const int axis = AxisOf(given, x.rank());
    context.Require(!seen[axis], "slice.axis_twice",
                    "axes[{}] = {} names a dim of input X {} that is in the "
                    "list already",
                    i, given, x);
    seen[axis] = true;
    if (x[axis] < 0) continue;
    out[axis] =
        SliceAxis(x[axis], starts[i], ends[i], steps.empty() ? 1 : steps[i])
            .out;
  }
  return out;
}

void RequireValue(const InferShapeContext& context, double value) {
  const DType dtype = context.input_dtype("X");
  context.Require(HoldsNumber(dtype, value), "pad.value",
                  "attribute value = {}; expected a number that is an element "
                  "of input X of {}",
                  value, dtype);
}

// Requires each entry of attribute axes to name another dim of input X.
void RequirePadAxes(const InferShapeContext& context,
                    const DDim& x,
                    const Ints& axes) {
  std::array<bool, DDim::kMaxRank> seen{};
  for (size_t i = 0; i < axes.size(); ++i) {
    context.Require(axes[i] >= -x.rank() && axes[i] < x.rank(), "pad.axis",
                    "axes[{}] = {}; expected a dim of input X {}, from {} to "
                    "{}",
                    i, axes[i], x, -x.rank(), x.rank() - 1);
    bool& twice = seen[static_cast<size_t>(AxisOf(axes[i], x.rank()))];
    context.Require(!twice, "pad.axis_twice",
                    "axes[{}] = {} names a dim of input X {} that is in the "
                    "list already",
                    i, axes[i], x);
    twice = true;
  }
}

// Returns the size of dim `axis` of X with the elements before and after it.
int64_t SizeWithPads(const InferShapeContext& context,
                     const DDim& x,
                     int axis,
                     int64_t before,
                     int64_t after) {
  const int64_t size = x[axis];
  for (const int64_t pad : {before, after}) {
    context.Require(pad >= -size, "pad.crop",
                    "attribute pads removes {} elements from dim {} of input "
                    "X {}, which has {}",
                    -static_cast<double>(pad), axis, x, size);
  }
  int64_t padded = 0;
  const bool fits = !__builtin_add_overflow(size, before, &padded) &&
                    !__builtin_add_overflow(padded, after, &padded);
  context.Require(fits, "pad.overflow",
                  "attribute pads makes dim {} of input X {} longer than 64 "
                  "bits hold: {} before and {} after it",
                  axis, x, before, after);
  context.Require(padded >= 0, "pad.nothing",
                  "attribute pads removes {} and {} elements from dim {} of "
                  "input X {}, which has {}",
                  -before, -after, axis, x, size);
  return padded;
}

// Requires that attribute mode finds elements to fill the `padded` ones of a
// dim with.
void RequireElementsToRepeat(const InferShapeContext& context,
                             const DDim& x,
                             int axis,
                             int64_t before,
                             int64_t after,
                             int64_t padded) {
  const auto& mode = context.Attr<std::string>("mode");
  const int64_t size = x[axis];
  context.Require(mode == "constant" || size > 0 || padded == 0, "pad.empty",
                  "attribute pads has {} and {} for dim {} of input X {}: "
                  "mode {} has nothing to take elements from",
                  before, after, axis, x, mode);
  const int64_t kept =
      size + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
  context.Require(mode != "wrap" || kept > 0 || padded == 0, "pad.wrap",
                  "attribute pads has {} and {} for dim {} of input X {}: "
                  "none of its elements is left, and mode wrap has nothing "
                  "to repeat",
                  before, after, axis, x);
}

DDim PaddedDims(const InferShapeContext& context) {
  const DDim x = context.input("X");
  const Ints& given = context.Attr<Ints>("pads");
  if (context.Attr<std::string>("mode") == "constant") {
    RequireValue(context, context.Attr<double>("value"));
  }
  if (!x.rank_known()) return x;
  const Ints& axes = context.Attr<Ints>("axes");
  const size_t count =
      axes.empty() ? static_cast<size_t>(x.rank()) : axes.size();
  context.Require(given.size() == 2 * count, "pad.entries",
                  "attribute pads has {} entries; expected {}: before each {} "
                  "of input X {}, then after each",
                  given.size(), 2 * count,
                  axes.empty() ? "dim" : "dim that axes names", x);
  RequirePadAxes(context, x, axes);
  const Ints pads = PadsOfAllDims(given, axes, x.rank());
  DDim out = x;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (x[axis] < 0) continue;
    const int64_t before = pads[axis], after = pads[axis + x.rank()];
    out[axis] = SizeWithPads(context, x, axis, before, after);
    RequireElementsToRepeat(context, x, axis, before, after, out[axis]);
  }
  return out;
}

DDim ExpandedDims(const InferShapeContext& context) {
  const DDim x = context.input("X");
  const Ints& shape = context.Attr<Ints>("shape");
  context.Require(shape.size() <= DDim::kMaxRank, "expand.rank",
                  "attribute shape has {} entries; expected at most {}",
                  shape.size(), DDim::kMaxRank);
  for (size_t i = 0; i < shape.size(); ++i) {
    context.Require(shape[i] >= 0, "expand.size",
                    "shape[{}] = {}; expected a size", i, shape[i]);
  }
  if (!x.rank_known()) return x;
  const DDim wanted(shape);
  DDim out;
  const int wrong = BroadcastShape(x, wanted, -1, &out);
  context.Require(wrong < 0, "expand.shape",
                  "input X {} does not broadcast with attribute shape {}", x,
                  wanted);
  return out;
}

DDim TiledDims(const InferShapeContext& context) {
  const DDim x = context.input("X");
  const Ints& repeats = context.Attr<Ints>("repeats");
  for (size_t i = 0; i < repeats.size(); ++i) {
    context.Require(repeats[i] >= 0, "tile.negative",
                    "repeats[{}] = {}; expected 0 or more", i, repeats[i]);
  }
  if (!x.rank_known()) return x;
  context.Require(repeats.size() == static_cast<size_t>(x.rank()),
                  "tile.entries",
                  "attribute repeats has {} entries; expected one for each dim "
                  "of input X {}",
                  repeats.size(), x);
  DDim out = x;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (x[axis] < 0) continue;
    const bool fits =
        !__builtin_mul_overflow(x[axis], repeats[axis], &out[axis]);
    context.Require(fits, "tile.overflow",
                    "repeats[{}] = {} makes dim {} of input X {} longer than "
                    "64 bits hold",
                    axis, repeats[axis], axis, x);
  }
  return out;
}

DDim RolledDims(const InferShapeContext& context) {
  const DDim x = context.input("X");
  const Ints& shifts = context.Attr<Ints>("shifts");
  const Ints& axes = context.Attr<Ints>("axis");
  context.Require(axes.size() == shifts.size(), "roll.entries",
                  "attribute axis has {} entries; expected {}, as many as "
                  "shifts has",
                  axes.size(), shifts.size());
  for (size_t i = 0; x.rank_known() && i < axes.size(); ++i) {
    context.Require(axes[i] >= -x.rank() && axes[i] < x.rank(), "roll.axis",
                    "axis[{}] = {}; expected a dim of input X {}, from {} to "
                    "{}",
                    i, axes[i], x, -x.rank(), x.rank() - 1);
  }
  return x;
}

// Returns the shape `wanted`, which repeats X along each dim.
DDim RepeatedDims(const InferShapeContext& context,
                  const DDim& wanted,
                  const char* target) {
  const DDim x = context.input("X");
  if (!x.rank_known() || !wanted.rank_known()) return wanted;
  context.Require(x.rank() <= wanted.rank(), "expand_as.rank",
                  "input X {} has more dims than {} {}", x, target, wanted);
  for (int i = 1; i <= x.rank(); ++i) {
    const int64_t size = x.at(-i), whole = wanted.at(-i);
    const bool fits = size < 0 || whole < 0 || size == whole ||
                      (size > 0 && whole % size == 0);
    context.Require(fits, "expand_as.size",
                    "dim {} of {} {} is {}; expected a multiple of {}, as "
                    "input X {} has",
                    wanted.rank() - i, target, wanted, whole, size, x);
  }
  return wanted;
}

DDim AsTargetDims(const InferShapeContext& context) {
  return RepeatedDims(context, context.input("Y"), "input Y");
}

void ExpandAsGradShape(InferShapeContext& context) {
  RepeatedDims(context, context.input("Out@GRAD"), "the gradient of Out");
  context.SetOutput("X@GRAD", context.input("X"));
}

template <DDim (*kDims)(const InferShapeContext&)>
constexpr GradientOp kIndexMapGrad = {.inputs = {ShapeOf("X")}, .dims = kDims};

struct Row {
  const char* name;
  const char* doc;
  const char* out_doc;
  const char* onnx;
  void (*attributes)(OpSchema& op);
  OpSchema::ShapeFn shape;
  OpSchema::ShapeFn grad_shape;
  OpSchema::ShapeFn late_shape;
};

void SliceAttributes(OpSchema& op) {
  op.Attr<Ints>("starts",
                "The first index of each slice; negative ones count from the "
                "end, and those past an end are cut.");
  op.Attr<Ints>("ends", "The index that each slice stops before, likewise.");
  op.Attr<Ints>("axes",
                "The dims that are cut; negative ones count from the end. None "
                "means the first ones.")
      .Default(Ints());
  op.Attr<Ints>("steps",
                "From one index to the next: not 0; negative ones go back. "
                "None means 1.")
      .Default(Ints());
  op.Operand("Starts", "starts", "S", "Attribute starts as a vector.");
  op.Operand("Ends", "ends", "S", "Attribute ends as a vector.");
  op.Operand("Axes", "axes", "S", "Attribute axes as a vector.");
  op.Operand("Steps", "steps", "S", "Attribute steps as a vector.");
}

void PadAttributes(OpSchema& op) {
  op.Attr<Ints>("pads",
                "How many elements to add before each dim, then how many after "
                "each; negative ones are removed.");
  op.Attr<std::string>("mode",
                       "What the new elements are: constant: `value`; edge: "
                       "the nearest of X; reflect: X in a mirror at its first "
                       "and last element; wrap: what pads leave of X, again "
                       "and again.")
      .Default(std::string("constant"))
      .OneOf({"constant", "edge", "reflect", "wrap"});
  op.Attr<double>("value", "The new elements, for mode constant.").Default(0.0);
  op.Attr<Ints>("axes",
                "The dims that pads is for; negative ones count from the end. "
                "None means all.")
      .Default(Ints());
  op.Operand("Pads", "pads", "S", "Attribute pads as a vector.");
  op.Operand("Value", "value", "T", "Attribute value as one element.");
  op.Operand("Axes", "axes", "S", "Attribute axes as a vector.");
}

void ExpandAttributes(OpSchema& op) {
  op.Attr<Ints>("shape", "What X is broadcast with; 1 leaves a dim as it is.");
  op.Operand("Shape", "shape", "S", "Attribute shape as a vector.");
}

void TileAttributes(OpSchema& op) {
  op.Attr<Ints>("repeats", "How often X comes, for each dim.");
  op.Operand("Repeats", "repeats", "S", "Attribute repeats as a vector.");
}

void RollAttributes(OpSchema& op) {
  op.Attr<Ints>("shifts",
                "How far elements move to higher indices; negative ones move "
                "to lower ones.");
  op.Attr<Ints>("axis",
                "The dim of each shift; a negative one counts from the end. "
                "The shifts of a dim that is there twice add up.");
  op.Operand("Shifts", "shifts", "S", "Attribute shifts as a vector.");
}

// Sets Out to unknown sizes with X's rank.
void SameRank(InferShapeContext& context) {
  DDim out = context.input("X");
  for (int axis = 0; axis < out.rank(); ++axis) {
    out[axis] = kUnknownDim;
  }
  context.SetOutput("Out", out);
}

// Dims that no known axis names keep their size.
void SliceLateShape(InferShapeContext& context) {
  DDim out = context.input("X");
  if (context.HasInput("Axes") || !out.rank_known()) return SameRank(context);
  const Ints& axes = context.Attr<Ints>("axes");
  if (axes.empty()) return SameRank(context);  // all of them
  for (const int64_t axis : axes) {
    const int64_t at = axis < 0 ? axis + out.rank() : axis;
    if (at >= 0 && at < out.rank()) out[static_cast<int>(at)] = kUnknownDim;
  }
  context.SetOutput("Out", out);
}

void ExpandLateShape(InferShapeContext& context) {
  const DDim x = context.input("X");
  const DDim shape = context.WithRank(context.input("Shape"), 1);
  DDim out = DDim::UnknownRank();
  if (x.rank_known() && shape[0] >= 0 && shape[0] <= DDim::kMaxRank) {
    const int64_t rank = std::max<int64_t>(x.rank(), shape[0]);
    out = DDim(Ints(static_cast<size_t>(rank), kUnknownDim));
  }
  context.SetOutput("Out", out);
}

constexpr Row kRows[] = {
    {"slice",
     "X[start:end:step] along some dims, as in numpy: the elements whose index "
     "is start, start + step and so on, before end.",
     "The elements, in as many dims as X has.", "Slice", SliceAttributes,
     OutShape<SlicedDims>, GradientShape<kIndexMapGrad<SlicedDims>>,
     SliceLateShape},
    {"pad",
     "X with elements around it, or without some of its own, dim by dim.",
     "In the rank of X.", "Pad", PadAttributes, OutShape<PaddedDims>,
     GradientShape<kIndexMapGrad<PaddedDims>>, SameRank},
    {"expand",
     "X repeated along its dims of size 1, and along new dims before its own, "
     "as numpy broadcasts it.",
     "In the shape that X and attribute shape have in common.", "Expand",
     ExpandAttributes, OutShape<ExpandedDims>,
     GradientShape<kIndexMapGrad<ExpandedDims>>, ExpandLateShape},
    {"tile", "X again and again, along each dim.",
     "The sizes of X times repeats.", "Tile", TileAttributes,
     OutShape<TiledDims>, GradientShape<kIndexMapGrad<TiledDims>>, SameRank},
    {"roll",
     "X with its elements moved along some dims; those that leave at one end "
     "come in at the other.",
     "In the shape of X.", "", RollAttributes, OutShape<RolledDims>,
     GradientShape<kIndexMapGrad<RolledDims>>, SameShape},
};

OnnxCounterpart OnnxOf(const Row& row) {
  OnnxCounterpart onnx{row.onnx, {}};
  if (onnx.op_type == "Pad") onnx.attributes = {{"constant_value", "value"}};
  return onnx;
}

void ExpandAsSchema(OpSchema& op) {
  op.Doc(
      "X repeated along its dims, and along new dims before its own, until it "
      "has the shape of Y: each dim of Y is a multiple of that of X.");
  op.TypeVar("T", AllDTypes()).TypeVar("U", AllDTypes());
  op.Input("X", "T", "A tensor of any shape.");
  op.Input("Y", "U", "What has the shape that is wanted.",
           {.shape_only = true});
  op.Output("Out", "T", "In the shape of Y.");
  op.InferShape(OutShape<AsTargetDims>);
}

constexpr GradientOp kExpandAsGrad = {
    .forward = ExpandAsSchema,
    .doc =
        "The gradient of expand_as: that of each element of X is the sum over "
        "the elements of Out that it is.",
    .inputs = {ShapeOf("X")},
    .shape = ExpandAsGradShape};

// Whether dim 0 stays as it is.
bool IndexMapSparesRows(const OpDesc& op, const DDim& x) {
  if (!x.rank_known()) return false;
  const auto first_is_one = [&](const char* attribute) {
    const auto found = op.attributes.find(attribute);
    if (found == op.attributes.end()) return false;
    const auto& sizes = std::get<Ints>(found->second);
    const auto rank = static_cast<size_t>(x.rank());
    return sizes.size() < rank || (sizes.size() == rank && sizes[0] == 1);
  };
  if (op.type == "tile") return first_is_one("repeats");
  if (op.type == "expand") return first_is_one("shape");
  return AxesSpareRows(op, x);
}

void AddIndexMapOps(Registry& registry) {
  registry.AddOperator("expand_as", WithGradient<kExpandAsGrad>);
  registry.AddOperator("expand_as_grad", GradientSchema<kExpandAsGrad>);
  for (const Row& row : kRows) {
    registry.AddOperator(row.name, [&](OpSchema& op) {
      op.Doc(row.doc);
      op.TypeVar("T", AllDTypes());
      op.Input("X", "T", "A tensor of any shape.");
      op.Output("Out", "T", row.out_doc);
      op.TypeVar("S", IndexDTypes());
      row.attributes(op);
      op.InferShape(row.shape).InferLateShape(row.late_shape);
      op.SharesRows("Out", {"X"}, IndexMapSparesRows);
      op.Gradient(MakeGradients<kExpandAsGrad>).Onnx(OnnxOf(row));
    });
    registry.AddOperator(std::string(row.name) + "_grad", [&](OpSchema& op) {
      DeriveGradient(registry.Schema(row.name), kExpandAsGrad, op);
      op.Doc(std::string("The gradient of ") + row.name +
             ": that of each element of X is the sum over the elements of Out "
             "that it is.");
      op.InferShape(row.grad_shape);
    });
  }
}

}  // namespace

REGISTER_TABLE(index_map_ops, AddIndexMapOps);

}  // namespace sluice
