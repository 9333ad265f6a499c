#include "sluice/operators/registration.h"

namespace sluice {
namespace {

// Returns the size of one of `heads`, which share the last dim.
int64_t HeadSize(const InferShapeContext& context,
                 const char* input,
                 const ShapeHandle& shape,
                 int64_t heads) {
  const int64_t size = context.Dim(shape, 2);
  context.Require(size < 0 || size % heads == 0, "linear_attention.heads",
                  "dim 2 of input {} is {}; expected a multiple of its {} "
                  "heads",
                  input, size, heads);
  return size < 0 ? size : size / heads;
}

// Checks an input with one entry per step, which the update rule uses or not.
void CheckGate(const InferShapeContext& context,
               const char* input,
               bool needed,
               DimHandle* batch,
               DimHandle* steps,
               int64_t one,
               int64_t other) {
  const bool given = context.HasInput(input);
  context.Require(given == needed, "linear_attention.gates",
                  "input {} is {}, but update_rule {} {}", input,
                  given ? "given" : "missing",
                  context.Attr<std::string>("update_rule"),
                  needed ? "needs it" : "does not use it");
  if (!given) return;
  const ShapeHandle gate = context.WithRank(context.input(input), 3);
  *batch = context.Merge(*batch, context.Dim(gate, 0));
  *steps = context.Merge(*steps, context.Dim(gate, 1));
  const int64_t size = context.Dim(gate, 2);
  context.Require(size < 0 || size == one || other < 0 || size == other,
                  "linear_attention.gate_size",
                  "dim 2 of input {} is {}; expected {} or {}", input, size,
                  one, other);
}

void Shape(InferShapeContext& context) {
  const auto heads = context.Attr<int64_t>("q_num_heads");
  const auto shared = context.Attr<int64_t>("kv_num_heads");
  context.Require(heads % shared == 0, "linear_attention.groups",
                  "attribute q_num_heads is {}; expected a multiple of "
                  "kv_num_heads, which is {}",
                  heads, shared);
  const ShapeHandle query = context.WithRank(context.input("Query"), 3);
  const ShapeHandle key = context.WithRank(context.input("Key"), 3);
  const ShapeHandle value = context.WithRank(context.input("Value"), 3);
  DimHandle batch = context.Dim(query, 0);
  DimHandle steps = context.Dim(query, 1);
  for (const ShapeHandle& other : {key, value}) {
    batch = context.Merge(batch, context.Dim(other, 0));
    steps = context.Merge(steps, context.Dim(other, 1));
  }
  int64_t key_size = HeadSize(context, "Query", query, heads);
  const int64_t of_key = HeadSize(context, "Key", key, shared);
  if (key_size < 0) key_size = of_key;
  context.Require(of_key < 0 || of_key == key_size, "linear_attention.key_size",
                  "the {} heads of input Key have {} numbers each; those of "
                  "input Query have {}",
                  shared, of_key, key_size);
  int64_t value_size = HeadSize(context, "Value", value, shared);
  if (context.HasInput("PastState")) {
    const ShapeHandle past = context.WithRank(context.input("PastState"), 4);
    batch = context.Merge(batch, context.Dim(past, 0));
    context.WithValue(context.Dim(past, 1), shared);
    const DimHandle rows = context.Dim(past, 2), columns = context.Dim(past, 3);
    if (key_size >= 0) context.WithValue(rows, key_size);
    if (value_size >= 0) context.WithValue(columns, value_size);
  }
  const auto& rule = context.Attr<std::string>("update_rule");
  CheckGate(context, "Decay", rule.starts_with("gated"), &batch, &steps, shared,
            key_size < 0 ? -1 : shared * key_size);
  CheckGate(context, "Beta", rule.ends_with("delta"), &batch, &steps, shared,
            1);
  context.SetOutput("Out", {batch.size, steps.size,
                            value_size < 0 ? -1 : heads * value_size});
  context.SetOutput("PresentState", {batch.size, shared, key_size, value_size});
}

void LinearAttentionSchema(OpSchema& op) {
  op.Doc(
      "Attention as a recurrence: each head keeps a matrix S, and at each step "
      "Out = scale * q' S after S = exp(g) * S + k u', where ' transposes. u "
      "is v, or for the delta rules beta * (v - (exp(g) * S)' k); g is 0 but "
      "for the gated rules. B rows, T steps; heads lie side by side in the "
      "last dim, and neighbouring heads of queries share one of keys and "
      "values. ONNX's LinearAttention.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("Query", "T", "[B, T, q_num_heads * K].");
  op.Input("Key", "T", "[B, T, kv_num_heads * K].");
  op.Input("Value", "T", "[B, T, kv_num_heads * V].");
  op.Input("PastState", "T",
           "[B, kv_num_heads, K, V]: S before; 0 if left out.",
           {.optional = true});
  op.Input("Decay", "T",
           "[B, T, kv_num_heads * K] or [B, T, kv_num_heads]: g, for the gated "
           "rules.",
           {.optional = true});
  op.Input("Beta", "T",
           "[B, T, kv_num_heads] or [B, T, 1], for the delta rules.",
           {.optional = true});
  op.Output("Out", "T", "[B, T, q_num_heads * V].");
  op.Output("PresentState", "T", "[B, kv_num_heads, K, V]: S after.");
  op.Attr<int64_t>("q_num_heads", "Heads of Query.").AtLeast(1);
  op.Attr<int64_t>("kv_num_heads", "Heads of Key and Value.").AtLeast(1);
  op.Attr<std::string>("update_rule", "How S changes.")
      .Default(std::string("gated_delta"))
      .OneOf({"linear", "gated", "delta", "gated_delta"});
  op.Attr<double>("scale", "Multiplies Out; 0: 1 / sqrt(K).").Default(0.0);
  op.InferShape(Shape);
  op.NoGradient(
      "it is for running models; to train, write its steps as a loop");
}

}  // namespace

REGISTER_OPERATOR(linear_attention, LinearAttentionSchema);

}  // namespace sluice
