#include <array>

#include "sluice/operators/movement/copy_kernel.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/row_wise.h"

// squeeze, unsqueeze and flatten return X in another shape. They share
// reshape's gradient.
namespace sluice {
namespace {

// Returns which of `rank` dims attribute axes lists.
std::array<bool, DDim::kMaxRank> NamedAxes(const InferShapeContext& context,
                                           int rank) {
  const Ints& axes = context.Attr<Ints>("axes");
  std::array<bool, DDim::kMaxRank> named{};
  for (size_t i = 0; i < axes.size(); ++i) {
    context.Require(axes[i] >= -rank && axes[i] < rank, "view.axis",
                    "axes[{}] = {} is no dim for input X {}: expected {} to {}",
                    i, axes[i], context.input("X").dims, -rank, rank - 1);
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    context.Require(!named[axis], "view.axis_twice",
                    "axes[{}] = {} names a dim that is in the list already", i,
                    axes[i]);
    named[axis] = true;
  }
  return named;
}

void SqueezeShape(InferShapeContext& context) {
  const DDim x = context.input("X");
  const bool all = context.Attr<Ints>("axes").empty();
  if (!x.rank_known() || (all && !x.known())) {
    return context.SetOutput("Out", DDim::UnknownRank());
  }
  const auto named = NamedAxes(context, x.rank());
  DDim out;
  for (int axis = 0; axis < x.rank(); ++axis) {
    context.Require(!named[axis] || x[axis] == 1 || x[axis] < 0, "squeeze.size",
                    "attribute axes names dim {} of input X {}; expected a dim "
                    "of size 1",
                    axis, x);
    const bool left_out = all ? x[axis] == 1 : named[axis];
    if (!left_out) out.InsertDim(out.rank(), x[axis]);
  }
  context.SetOutput("Out", out);
}

void UnsqueezeShape(InferShapeContext& context) {
  const DDim x = context.input("X");
  const Ints& axes = context.Attr<Ints>("axes");
  context.Require(axes.size() <= DDim::kMaxRank, "unsqueeze.entries",
                  "attribute axes has {} entries; expected at most {}",
                  axes.size(), DDim::kMaxRank);
  if (!x.rank_known()) return context.SetOutput("Out", x);
  const int rank = x.rank() + static_cast<int>(axes.size());
  context.Require(rank <= DDim::kMaxRank, "unsqueeze.rank",
                  "input X {} has rank {} with the dims of attribute axes; "
                  "expected at most {}",
                  x, rank, DDim::kMaxRank);
  const auto named = NamedAxes(context, rank);
  DDim out;
  int next = 0;
  for (int axis = 0; axis < rank; ++axis) {
    out.InsertDim(axis, named[axis] ? 1 : x[next++]);
  }
  context.SetOutput("Out", out);
}

void UnsqueezeLateShape(InferShapeContext& context) {
  const DDim x = context.input("X");
  const DDim axes = context.WithRank(context.input("Axes"), 1);
  DDim out = DDim::UnknownRank();
  if (x.rank_known() && axes[0] >= 0 && axes[0] + x.rank() <= DDim::kMaxRank) {
    out = DDim(Ints(static_cast<size_t>(x.rank() + axes[0]), kUnknownDim));
  }
  context.SetOutput("Out", out);
}

// Returns the product of axes [first, last), or -1 if one is unknown.
int64_t Product(const InferShapeContext& context,
                const DDim& x,
                int first,
                int last) {
  int64_t product = 1;
  bool fits = true;
  for (int axis = first; axis < last; ++axis) {
    if (x[axis] < 0) return kUnknownDim;
    fits = fits && !__builtin_mul_overflow(product, x[axis], &product);
  }
  context.Require(fits, "flatten.overflow",
                  "the sizes of input X {} have a product of more than 64 bits",
                  x);
  return product;
}

void FlattenShape(InferShapeContext& context) {
  const DDim x = context.input("X");
  const auto axis = context.Attr<int64_t>("axis");
  if (!x.rank_known()) return context.SetOutput("Out", DDim{-1, -1});
  context.Require(axis >= -x.rank() && axis <= x.rank(), "flatten.axis",
                  "axis = {}; expected {} to {} for input X {}", axis,
                  -x.rank(), x.rank(), x);
  const auto at = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
  context.SetOutput("Out", DDim{Product(context, x, 0, at),
                                Product(context, x, at, x.rank())});
}

std::vector<OpDesc> ViewGradient(const OpDesc& forward) {
  OpDesc grad =
      MakeGradOp(forward, "reshape_grad",
                 {.inputs = {"X"}, .output_grads = {"Out"}, .wanted = {"X"}});
  grad.attributes.clear();
  return {grad};
}

void ViewArguments(OpSchema& op) {
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "A tensor of any shape.");
  op.Output("Out", "T", "The same elements; X's memory, where a plan can.");
  op.Gradient(ViewGradient).Alias("Out", "X");
}

void SqueezeSchema(OpSchema& op) {
  op.Doc("X without dims of size 1.");
  ViewArguments(op);
  op.Attr<Ints>("axes",
                "The dims to leave out; negative ones count from the end. None "
                "means all of size 1.")
      .Default(Ints());
  op.Operand("Axes", "axes", "int64", "Attribute axes as a vector.");
  op.InferShape(SqueezeShape).Onnx({"Squeeze", {}});
  op.SharesRows("Out", {"X"}, AxesSpareRows);
}

void UnsqueezeSchema(OpSchema& op) {
  op.Doc("X with further dims of size 1.");
  ViewArguments(op);
  op.Attr<Ints>("axes",
                "Where the new dims are in Out; negative ones count from its "
                "end.");
  op.Operand("Axes", "axes", "int64", "Attribute axes as a vector.");
  op.InferShape(UnsqueezeShape).InferLateShape(UnsqueezeLateShape);
  op.Onnx({"Unsqueeze", {}});
  op.SharesRows("Out", {"X"}, [](const OpDesc& op, const DDim& x) {
    const auto axes = op.attributes.find("axes");
    if (axes == op.attributes.end()) return false;
    const auto& list = std::get<Ints>(axes->second);
    return std::all_of(list.begin(), list.end(), [&](int64_t axis) {
      return axis > 0 || (axis < 0 && x.rank_known() && -axis <= x.rank());
    });
  });
}

void FlattenSchema(OpSchema& op) {
  op.Doc("X as a matrix.");
  ViewArguments(op);
  op.Attr<int64_t>("axis",
                   "The first dim of X that is a part of the columns; a "
                   "negative one counts from the end.")
      .Default(int64_t{1});
  op.InferShape(FlattenShape).Onnx({"Flatten", {}});
  op.SharesRows("Out", {"X"}, [](const OpDesc& op, const DDim& x) {
    const auto axis = std::get<int64_t>(op.attributes.at("axis"));
    return axis == 1 || (x.rank_known() && axis == 1 - x.rank());
  });
}

class ViewKernel final : public CopyKernel<0> {
  using CopyKernel<0>::CopyKernel;
};

void AddViewKernels(Registry& registry) {
  for (const char* name : {"squeeze", "unsqueeze", "flatten"}) {
    AddPlainKernels<ViewKernel>(registry, name, CPUPlace());
  }
}

}  // namespace

REGISTER_OPERATOR(squeeze, SqueezeSchema);
REGISTER_OPERATOR(unsqueeze, UnsqueezeSchema);
REGISTER_OPERATOR(flatten, FlattenSchema);
REGISTER_TABLE(view_kernels, AddViewKernels);

}  // namespace sluice
