#include "sluice/operators/math/search/top_k.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void TopKShape(InferShapeContext& context) {
  const DDim x = context.input("X");
  const auto k = context.Attr<int64_t>("k");
  DDim out = x;
  if (x.rank_known() && x.rank() == 0) {
    context.Require(k == 1, "top_k.k_of_number",
                    "k = {}, and input X is a number; expected 1", k);
  } else if (x.rank_known()) {
    const int last = out.rank() - 1;
    context.Require(out[last] < 0 || k <= out[last], "top_k.k_range",
                    "k = {} is more than the last dim of input X {} has", k, x);
    out[last] = k;
  }
  context.SetOutput("Out", out);
  context.SetOutput("Indices", out);
}

void TopKLateShape(InferShapeContext& context) {
  DDim out = context.input("X");
  if (out.rank_known() && out.rank() > 0) {
    out[out.rank() - 1] = kUnknownDim;
  }
  context.SetOutput("Out", out);
  context.SetOutput("Indices", out);
}

// The gradient of each element goes to where it stands in its row.
std::vector<OpDesc> TopKGradient(const OpDesc& forward) {
  OpDesc grad =
      MakeGradOp(forward, "gather_elements_grad",
                 {.inputs = {"X"}, .output_grads = {"Out"}, .wanted = {"X"}});
  grad.inputs.emplace_back("Index", forward.Output("Indices"));
  grad.attributes = {{"axis", int64_t{-1}}};
  return {grad};
}

void TopKSchema(OpSchema& op) {
  op.Doc(
      "The k largest (or smallest) elements of each row of X and where they "
      "stand. Equal elements come by lower index first. NaN counts as larger "
      "than every number, as in NumPy's sort; 0 and -0 are equal.");
  std::vector<DType> dtypes = NumericDTypes();
  dtypes.push_back(DType::kUInt64);
  op.TypeVar("T", dtypes);
  op.Input("X", "T",
           "[..., n]: rows along the last dimension, n >= k; or one number.");
  op.Output("Out", "T", "[..., k]: the elements.");
  op.Output("Indices", "int64", "[..., k]: their indices in the row.");
  op.Attr<int64_t>("k", "How many of each row.").Default(int64_t{1}).AtLeast(0);
  op.Attr<bool>("largest", "The largest elements; false: the smallest.")
      .Default(true);
  op.Attr<bool>("sorted",
                "Best first; false: in an order that is not specified.")
      .Default(true);
  op.TypeVar("S", IndexDTypes());
  op.Operand("K", "k", "S", "Attribute k as one element.");
  op.InferShape(TopKShape).InferLateShape(TopKLateShape);
  op.Gradient(TopKGradient);
  op.SharesRows("Out", {"X"})
      .SharesRows("Indices", {"X"}, [](const OpDesc&, const DDim& x) {
        return x.rank_known() && x.rank() >= 2;
      });
  op.Sizes({{"X", "64, n"}, {"k", "1"}});
}

template <typename T>
class TopKKernel final : public OpKernel {
 public:
  explicit TopKKernel(const OpKernelConstruction& construction)
      : k_(construction.Attr<int64_t>("k")),
        largest_(construction.Attr<bool>("largest")),
        sorted_(construction.Attr<bool>("sorted")) {}

  void Prepare(KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    columns_ = x.rank() == 0 ? 1 : x.at(-1);
    rows_ = x.Product(0, x.rank() - 1);
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, out_dims_);
    Tensor& indices = context.AllocateOutput(1, out_dims_);
    if (out.numel() == 0) return;
    TopK(context.Input(0).data<T>(), rows_, columns_, k_, largest_, sorted_,
         out.data<T>(), indices.data<int64_t>());
  }

 private:
  int64_t k_;
  bool largest_;
  bool sorted_;
  int64_t rows_ = 0;
  int64_t columns_ = 1;
  DDim out_dims_;
};

}  // namespace

REGISTER_OPERATOR(top_k, TopKSchema);
REGISTER_OP_CPU_KERNEL(top_k, TopKKernel<NumberTypes>, TopKKernel<uint64_t>);

}  // namespace sluice
