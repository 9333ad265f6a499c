#include <algorithm>

#include "sluice/operators/math/strided_copy.h"
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

int64_t ElementNumber(const OpKernelContext& context) {
  const Tensor& number = context.Input("I");
  int64_t value = 0;
  VisitIndex(number.dtype(),
             [&]<typename S>() { value = number.data<S>()[0]; });
  return value;
}

class ArrayWriteKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    out_ = preparation.query.outputs[0];
    RowsOf(preparation.query);
  }

  void Compute(OpKernelContext& context) const override {
    const int64_t number = ElementNumber(context);
    SLUICE_ENFORCE(number >= 0 && number < out_[0], ErrorCode::kOutOfRange,
                   "array_write.capacity",
                   "{}: I = {}; expected 0 to {}: the array has room for {} "
                   "elements, its capacity",
                   context.op(), number, out_[0] - 1, out_[0]);
    const bool has_x = context.HasInput("X");
    if (has_x && context.HasInput("XOffsets")) {
      CheckedSequences(context, context.Input("XOffsets"),
                       context.Input("X").dims()[0]);
    }
    Tensor& out = context.AllocateOutput(0, out_);
    if (out.numel() == 0) return;
    auto* const to = static_cast<char*>(out.raw_data());
    const size_t bytes = out.bytes() / static_cast<size_t>(out_[0]);
    const auto row = bytes / static_cast<size_t>(std::max<int64_t>(rows_, 1));
    if (!context.HasInput("Array")) {
      FillZero(to, out.bytes());
    } else if (const Tensor& array = context.Input("Array");
               array_rows_ < rows_) {
      const auto* const from = static_cast<const char*>(array.raw_data());
      for (int64_t i = 0; i < out_[0]; ++i) {
        CopyRows(from + i * array_rows_ * row, array_rows_, row,
                 to + i * rows_ * row);
      }
    } else if (array.raw_data() != to) {
      CopyBytes(array.raw_data(), to, out.bytes());
    }
    char* const element = to + static_cast<size_t>(number) * bytes;
    if (has_x) {
      CopyRows(static_cast<const char*>(context.Input("X").raw_data()), x_rows_,
               row, element);
    } else {
      FillZero(element, bytes);
    }
  }

 private:
  // Finds the rows of elements, and of those that are read.
  void RowsOf(const KernelQuery& query) {
    rows_ = array_rows_ = x_rows_ = out_.rank() > 1 ? out_[1] : 1;
    if (!query.Attr<bool>("grows") || out_.rank() < 2) return;
    size_t at = 0;
    for (const auto& [argument, vars] : query.op.inputs) {
      if (vars.empty()) continue;
      if (argument == "Array") array_rows_ = query.inputs[at][1];
      if (argument == "X") x_rows_ = query.inputs[at][0];
      at += vars.size();
    }
  }

  // Copies an element of `count` rows of `row` bytes into one of rows_; the
  // rest repeats its last row.
  void CopyRows(const char* from, int64_t count, size_t row, char* to) const {
    CopyBytes(from, to, static_cast<size_t>(count) * row);
    for (int64_t i = count; i < rows_; ++i) {
      if (count == 0) {
        FillZero(to + i * row, row);
      } else {
        CopyBytes(from + (count - 1) * row, to + i * row, row);
      }
    }
  }

  DDim out_;
  int64_t rows_ = 1, array_rows_ = 1, x_rows_ = 1;
};

class ArrayReadKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    capacity_ = preparation.query.inputs[0][0];
    out_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const int64_t number = ElementNumber(context);
    const int64_t length = context.HasInput("Length")
                               ? context.Input("Length").data<int64_t>()[0]
                               : capacity_;
    SLUICE_ENFORCE(number >= 0 && number < std::min(length, capacity_),
                   ErrorCode::kOutOfRange, "array_read.length",
                   "{}: I = {}, and the array has {} elements (Length), of the "
                   "{} that there is room for",
                   context.op(), number, length, capacity_);
    if (context.HasInput("Rows")) {
      const int64_t rows = context.Input("Rows").data<int64_t>()[number];
      SLUICE_ENFORCE(rows == out_[0], ErrorCode::kFailedPrecondition,
                     "array_read.fewer_rows",
                     "{}: element {} was written with {} rows, and another one "
                     "with {} since; read it before that, or write elements "
                     "of equally many rows",
                     context.op(), number, rows, out_[0]);
    }
    Tensor& out = context.AllocateOutput(0, out_);
    if (out.numel() == 0) return;
    const auto* const from =
        static_cast<const char*>(context.Input("Array").raw_data());
    CopyBytes(from + static_cast<size_t>(number) * out.bytes(), out.raw_data(),
              out.bytes());
  }

 private:
  int64_t capacity_ = 0;
  DDim out_;
};

}  // namespace

REGISTER_OPERATOR(array_write, ArrayWriteSchema);
REGISTER_OPERATOR(array_read, ArrayReadSchema);
REGISTER_OP_CPU_KERNEL(array_write, ArrayWriteKernel);
REGISTER_OP_CPU_KERNEL(array_read, ArrayReadKernel);

}  // namespace sluice
