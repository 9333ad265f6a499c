#include <algorithm>

#include "sluice/operators/ragged/sequences.h"
#include "sluice/operators/registration.h"

// Arrays of tensors: a stack [capacity, ...], of which an op writes or reads
// one element.
namespace sluice {
namespace {

void RequireOneElement(const InferShapeContext& context, const char* input) {
  const DDim dims = context.input(input);
  context.Require(!dims.known() || dims.numel() == 1, "array.one_element",
                  "input {} must have one element, got shape {}", input, dims);
}

// Returns the shape of Array, whose dim 0 is attribute capacity.
ShapeHandle ArrayDims(const InferShapeContext& context) {
  ShapeHandle array = context.WithRankAtLeast(context.input("Array"), 1);
  if (!array.dims.rank_known()) return array;
  const auto capacity = context.Attr<int64_t>("capacity");
  context.Require(array.dims[0] < 0 || array.dims[0] == capacity,
                  "array.capacity",
                  "attribute capacity = {}, and input Array {} has room for {}",
                  capacity, array.dims, array.dims[0]);
  array.dims[0] = capacity;
  return array;
}

void ArrayWriteShape(InferShapeContext& context) {
  RequireOneElement(context, "I");
  const bool has_array = context.HasInput("Array");
  context.Require(has_array || context.HasInput("X"), "array_write.nothing",
                  "inputs Array and X are both left out; expected one of them");
  DDim out = has_array ? ArrayDims(context) : DDim::UnknownRank();
  if (context.HasInput("X")) {
    DDim stack = context.input("X");
    context.Require(!stack.rank_known() || stack.rank() < DDim::kMaxRank,
                    "array_write.rank",
                    "input X {} has no room for another dim", stack);
    if (stack.rank_known()) {
      const DDim element = stack;
      stack.InsertDim(0, context.Attr<int64_t>("capacity"));
      bool same = !out.rank_known() || out.rank() == stack.rank();
      if (same && out.rank() > 1 && context.Attr<bool>("grows")) {
        const bool known = out[1] >= 0 && stack[1] >= 0;
        out[1] = stack[1] = known ? std::max(out[1], stack[1]) : -1;
      }
      for (int axis = 1; same && axis < out.rank(); ++axis) {
        if (stack[axis] < 0) stack[axis] = out[axis];
        same = out[axis] < 0 || out[axis] == stack[axis];
      }
      context.Require(same, "array_write.shape",
                      "input X is {}, and the elements of input Array {} have "
                      "another shape; an array has elements of one shape",
                      element, out);
      out = stack;
    }
  }
  context.SetOutput("Out", out);
}

void ArrayReadShape(InferShapeContext& context) {
  RequireOneElement(context, "I");
  if (context.HasInput("Length")) RequireOneElement(context, "Length");
  DDim out = ArrayDims(context);
  if (context.HasInput("Rows")) {
    const DDim rows = context.input("Rows");
    const auto capacity = context.Attr<int64_t>("capacity");
    context.Require(!rows.known() || rows == DDim{capacity}, "array_read.rows",
                    "input Rows must have shape [{}], got {}", capacity, rows);
  }
  if (out.rank_known()) out.RemoveDimRange(0, 1);
  context.SetOutput("Out", out);
}

// Returns an op that reads an element of array `from`, or writes one.
OpDesc OfElement(const OpDesc& forward,
                 const char* type,
                 const char* argument,
                 const std::string& from,
                 const std::string& to) {
  OpDesc op;
  op.type = type;
  op.inputs = {{argument, {from}}, {"I", forward.Input("I")}};
  op.outputs = {{"Out", {to}}};
  op.attributes = {{"capacity", forward.attributes.at("capacity")}};
  op.hint = forward.hint;
  op.location = forward.location;
  return op;
}

std::vector<OpDesc> ArrayWriteGradient(const OpDesc& forward) {
  const std::string grad = GradName(forward.Output("Out").at(0));
  std::vector<OpDesc> ops;
  for (const std::string& x : forward.Input("X")) {
    ops.push_back(OfElement(forward, "array_read", "Array", grad, GradName(x)));
  }
  for (const std::string& array : forward.Input("Array")) {
    ops.push_back(
        OfElement(forward, "array_write", "Array", grad, GradName(array)));
  }
  return ops;
}

std::vector<OpDesc> ArrayReadGradient(const OpDesc& forward) {
  return {OfElement(forward, "array_write", "X",
                    GradName(forward.Output("Out").at(0)),
                    GradName(forward.Input("Array").at(0)))};
}

void ElementArguments(OpSchema& op) {
  op.Input("I", "S",
           "One element: the number of the element, counted from 0; checked "
           "when the op runs.",
           {.host = true});
  op.Attr<int64_t>("capacity", "The elements that the array has room for.")
      .AtLeast(1)
      .AtMost(int64_t{1} << 32);
}

void ArrayWriteSchema(OpSchema& op) {
  op.Doc(
      "An array of tensors with another element number I. The array is a stack "
      "with room for so many elements as attribute capacity says.");
  op.TypeVar("T", AllDTypes()).TypeVar("S", IndexDTypes());
  op.Input("Array", "T", "[capacity, ...]; zeros if left out.",
           {.optional = true});
  op.Input("X", "T", "[...]: the element; zeros if left out.",
           {.optional = true});
  OffsetsInput(op, "X", "XOffsets");
  ElementArguments(op);
  op.Attr<bool>("grows",
                "Whether elements may have different sizes of dim 0, their "
                "rows: all then get as many as the largest. What follows the "
                "rows of a smaller one repeats its last row.")
      .Default(false);
  op.Output("Out", "T", "[capacity, ...].");
  op.InferShape(ArrayWriteShape).Gradient(ArrayWriteGradient);
  op.Overwrite("Out", "Array");
}

void ArrayReadSchema(OpSchema& op) {
  op.Doc("Element number I of an array of tensors.");
  op.TypeVar("T", AllDTypes()).TypeVar("S", IndexDTypes());
  op.Input("Array", "T", "[capacity, ...], as array_write makes it.");
  op.Input("Length", "int64",
           "One element: how many elements there are; I is below it. All that "
           "there is room for if left out.",
           {.optional = true, .host = true});
  op.Input("Rows", "int64",
           "[capacity]: the rows of each element, if they may differ. An "
           "element that had fewer than there is room for cannot be read.",
           {.optional = true, .host = true});
  op.Input("Offsets", "int64",
           "[B + 1]: what cuts the rows of Out into sequences.",
           {.optional = true, .host = true});
  ElementArguments(op);
  op.Output("Out", "T", "[...]: the element.");
  op.Ragged("Out", "Offsets");
  op.InferShape(ArrayReadShape).Gradient(ArrayReadGradient);
}

}  // namespace

REGISTER_OPERATOR(array_write, ArrayWriteSchema);
REGISTER_OPERATOR(array_read, ArrayReadSchema);

}  // namespace sluice
