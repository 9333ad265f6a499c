#include "sluice/operators/registration.h"
#include "sluice/operators/row_wise.h"

// arg_max and arg_min.
namespace sluice {
namespace {

void RequireElements(const InferShapeContext& context,
                     const DDim& x,
                     int64_t size) {
  context.Require(size != 0, "arg_best.empty",
                  "input X {} has no elements to choose from", x);
}

void ArgBestShape(InferShapeContext& context) {
  const DDim x = context.input("X");
  const bool keep = context.Attr<bool>("keepdims");
  if (!x.rank_known()) {
    const bool scalar = context.Attr<bool>("flatten") && !keep;
    return context.SetOutput("Out", scalar ? DDim() : DDim::UnknownRank());
  }
  DDim out;
  if (context.Attr<bool>("flatten")) {
    for (int axis = 0; axis < x.rank(); ++axis) {
      RequireElements(context, x, x[axis]);
      if (keep) out.InsertDim(axis, 1);
    }
    return context.SetOutput("Out", out);
  }
  const auto axis = context.Attr<int64_t>("axis");
  context.Require(axis >= -x.rank() && axis < x.rank(), "arg_best.axis",
                  "attribute axis = {} is no dimension of input X {}; expected "
                  "{} to {}",
                  axis, x, -x.rank(), x.rank() - 1);
  const auto at = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
  RequireElements(context, x, x[at]);
  for (int i = 0; i < x.rank(); ++i) {
    if (i != at) {
      out.InsertDim(out.rank(), x[i]);
    } else if (keep) {
      out.InsertDim(out.rank(), 1);
    }
  }
  context.SetOutput("Out", out);
}

void Schema(const std::string& best, const char* torch, OpSchema& op) {
  op.Doc("The index of the " + best +
         " element along one dimension. As in NumPy NaN comes before every "
         "number, and the first of equal elements counts; 0 and -0 are equal.");
  op.TypeVar("T", NumericDTypes());
  op.Input("X", "T", "With at least one element along the dimension.");
  op.Output("Out", "int64",
            "The indices: X's shape without the dimension, or with size 1 "
            "there.");
  op.Attr<int64_t>("axis", "The dimension; a negative one counts from the end.")
      .Default(int64_t{0});
  op.Attr<bool>("keepdims", "Whether the dimension stays, with size 1.")
      .Default(false);
  op.Attr<bool>("flatten",
                "Looks at all elements as one row, whatever axis says.")
      .Default(false);
  op.Attr<bool>("select_last_index", "The last of equal elements instead.")
      .Default(false);
  op.InferShape(ArgBestShape).Torch(torch);
  op.SharesRows("Out", {"X"}, AxisSparesRows);
}

void ArgMaxSchema(OpSchema& op) {
  Schema("largest", "torch.argmax(X, axis)", op);
}
void ArgMinSchema(OpSchema& op) {
  Schema("smallest", "torch.argmin(X, axis)", op);
}

}  // namespace

REGISTER_OPERATOR(arg_max, ArgMaxSchema);
REGISTER_OPERATOR(arg_min, ArgMinSchema);

}  // namespace sluice
