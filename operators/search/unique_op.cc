#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void UniqueShape(InferShapeContext& context) {
  const DDim x = context.input("X");
  DDim out = x;
  int64_t inverse = kUnknownDim;
  if (context.Attr<bool>("flatten")) {
    out = DDim({kUnknownDim});
    if (x.known()) inverse = x.numel();
  } else if (x.rank_known()) {
    const auto axis = context.Attr<int64_t>("axis");
    context.Require(axis >= -x.rank() && axis < x.rank(), "unique.axis",
                    "attribute axis = {} is no dimension of input X {}; "
                    "expected {} to {}",
                    axis, x, -x.rank(), x.rank() - 1);
    const auto at = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
    inverse = x[at];
    out[at] = kUnknownDim;
  }
  context.SetOutput("Out", out);
  context.SetOutput("Index", DDim({kUnknownDim}));
  context.SetOutput("Inverse", DDim({inverse}));
  context.SetOutput("Counts", DDim({kUnknownDim}));
}

void UniqueSchema(OpSchema& op) {
  op.Doc(
      "The different elements of X, or the different slices along an axis, as "
      "np.unique: equal are NaN and NaN, and 0 and -0. How many there are is "
      "known when it has run.");
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "Of any shape.");
  op.Output(
      "Out", "T",
      "[n], or X with n slices along the axis: the first of those that "
      "are equal. Sorted: by their elements in row-major order, NaN last.");
  op.Output("Index", "int64", "[n]: where in X the first one of each is.",
            {.optional = true});
  op.Output("Inverse", "int64",
            "[elements or slices of X]: which of Out each is.",
            {.optional = true});
  op.Output("Counts", "int64", "[n]: how many of each X has.",
            {.optional = true});
  op.Attr<bool>("flatten", "Looks at the elements of X, whatever axis says.")
      .Default(true);
  op.Attr<int64_t>("axis",
                   "Along which slices are compared; a negative one counts "
                   "from the end.")
      .Default(int64_t{0});
  op.Attr<bool>("sorted", "Otherwise they come in the order of X.")
      .Default(true);
  op.InferShape(UniqueShape);
  op.NoGradient("how many elements Out has changes with the values of X");
}

}  // namespace

REGISTER_OPERATOR(unique, UniqueSchema);

}  // namespace sluice
