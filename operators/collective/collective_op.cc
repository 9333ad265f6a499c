#include <utility>

#include "sluice/operators/collective/collective_kernel.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"

// Collective ops, in which all ranks take part (platform/world.h), with Fluid's
// names. With a single rank they return their inputs.
namespace sluice {
namespace {

std::vector<DType> ReducedDTypes() {
  return {kReducedDTypes.begin(), kReducedDTypes.end()};
}

void SameShapes(InferShapeContext& context) {
  const auto inputs = context.inputs("X");
  for (size_t i = 0; i < inputs.size(); ++i) {
    context.SetOutput("Out", inputs[i], static_cast<int>(i));
  }
}

// The dims of X, its first dim, and the number of ranks that share it.
struct Parts {
  DDim dims;
  int64_t size = kUnknownDim;
  int64_t ranks = 1;
};

Parts PartsOf(const InferShapeContext& context) {
  const auto x = context.WithRankAtLeast(context.input("X"), 1);
  Parts parts;
  parts.dims = x.dims;
  parts.ranks = context.Attr<int64_t>("nranks");
  if (x.dims.rank_known()) parts.size = x.dims[0];
  return parts;
}

void AllGatherShape(InferShapeContext& context) {
  Parts parts = PartsOf(context);
  int64_t size = kUnknownDim;
  if (parts.size >= 0) {
    const bool fits = !__builtin_mul_overflow(parts.size, parts.ranks, &size);
    context.Require(fits, "c_allgather.overflow",
                    "{} parts of X {}: more than 64 bits hold", parts.ranks,
                    parts.dims);
  }
  if (parts.dims.rank_known()) parts.dims[0] = size;
  context.SetOutput("Out", parts.dims);
}

void ReduceScatterShape(InferShapeContext& context) {
  Parts parts = PartsOf(context);
  context.Require(parts.size < 0 || parts.size % parts.ranks == 0,
                  "c_reducescatter.parts",
                  "the first dim of X {} is to be shared by {} ranks, which do "
                  "not divide it",
                  parts.dims, parts.ranks);
  if (parts.size >= 0) parts.dims[0] = parts.size / parts.ranks;
  context.SetOutput("Out", parts.dims);
}

// The gradient of an all-reduced sum is the all-reduced sum of the gradients.
std::vector<OpDesc> AllReduceSumGradient(const OpDesc& forward) {
  std::vector<OpDesc> grads;
  const ArgVars& x = forward.Input("X");
  for (size_t i = 0; i < x.size(); ++i) {
    OpDesc& grad = grads.emplace_back();
    grad.type = forward.type;
    grad.attributes = forward.attributes;
    grad.inputs = {{"X", {GradName(forward.Output("Out")[i])}}};
    grad.outputs = {{"Out", {GradName(x[i])}}};
  }
  return grads;
}

std::vector<OpDesc> AllGatherGradient(const OpDesc& forward) {
  return {GradientThrough(forward, forward.Input("X")[0], "c_reducescatter",
                          forward.attributes)};
}

std::vector<OpDesc> ReduceScatterGradient(const OpDesc& forward) {
  return {GradientThrough(forward, forward.Input("X")[0], "c_allgather",
                          forward.attributes)};
}

void Reduced(OpSchema& op, const std::string& what) {
  op.TypeVar("T", ReducedDTypes());
  op.Input("X", "T", "Tensors of any shape; the same on all ranks.",
           {.variadic = true});
  op.Output("Out", "T", what, {.variadic = true});
  op.InferShape(SameShapes).Overwrite("Out", "X");
}

void AllReduceSumSchema(OpSchema& op) {
  op.Doc(
      "The sum of X over all ranks, on each of them. float16 and bfloat16 are "
      "rounded after each addition; integers wrap around.");
  Reduced(op, "The sum of each tensor.");
  op.Attr<bool>("ordered",
                "Add in an order that is the same however many ranks share the "
                "parts, as long as their number is a power of 2.")
      .Default(false);
  op.Gradient(AllReduceSumGradient);
}

void AllReduceMaxSchema(OpSchema& op) {
  op.Doc(
      "The largest of X over all ranks, on each of them. NaN is the largest.");
  Reduced(op, "The largest of each element.");
  op.NoGradient("it is for what ranks measure, not for losses");
}

void BroadcastSchema(OpSchema& op) {
  op.Doc("X of rank `root`, on each rank.");
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "Tensors of any shape; those of other ranks do not count.",
           {.variadic = true});
  op.Output("Out", "T", "What rank `root` has.", {.variadic = true});
  op.Attr<int64_t>("root", "The rank that gives.")
      .Default(int64_t{0})
      .AtLeast(0);
  op.InferShape(SameShapes).Overwrite("Out", "X");
  op.NoGradient("it gives ranks the same values before they train");
}

void RanksAttribute(OpSchema& op) {
  op.Attr<int64_t>("nranks", "How many ranks there are.").AtLeast(1);
}

void AllGatherSchema(OpSchema& op) {
  op.Doc("X of all ranks, one after the other in dim 0, on each of them.");
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "Of rank 1 or more; of the same shape on all ranks.");
  op.Output("Out", "T", "The parts in the order of ranks.");
  RanksAttribute(op);
  op.InferShape(AllGatherShape).Gradient(AllGatherGradient);
}

void ReduceScatterSchema(OpSchema& op) {
  op.Doc("The sum of X over all ranks, of which each keeps its part of dim 0.");
  op.TypeVar("T", ReducedDTypes());
  op.Input("X", "T",
           "A tensor of rank 1 or more; `nranks` divides its first dim.");
  op.Output("Out", "T", "This rank's part of the sum.");
  RanksAttribute(op);
  op.InferShape(ReduceScatterShape).Gradient(ReduceScatterGradient);
}

void BarrierSchema(OpSchema& op) {
  op.Doc("Out = X, once all ranks have come here.");
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "Tensors of any shape.", {.variadic = true});
  op.Output("Out", "T", "The same.", {.variadic = true});
  op.InferShape(SameShapes).Overwrite("Out", "X");
  op.NoGradient("it only waits; let it be no part of a loss");
}

}  // namespace

REGISTER_OPERATOR(c_allreduce_sum, AllReduceSumSchema);
REGISTER_OPERATOR(c_allreduce_max, AllReduceMaxSchema);
REGISTER_OPERATOR(c_broadcast, BroadcastSchema);
REGISTER_OPERATOR(c_allgather, AllGatherSchema);
REGISTER_OPERATOR(c_reducescatter, ReduceScatterSchema);
REGISTER_OPERATOR(barrier, BarrierSchema);

}  // namespace sluice
