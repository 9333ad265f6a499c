#include <algorithm>
#include <cmath>

#include "sluice/operators/registration.h"
#include "sluice/platform/cancel.h"
#include "sluice/platform/parallel_for.h"

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

struct Sizes {
  int64_t batch = 0, steps = 0, heads = 0, shared = 0, keys = 0, values = 0;
};

Sizes SizesOf(const KernelQuery& query) {
  const auto& state = query.outputs[1];
  return {query.inputs[0][0],
          query.inputs[0][1],
          query.Attr<int64_t>("q_num_heads"),
          state[1],
          state[2],
          state[3]};
}

// The inputs of one key head at one step.
template <typename T>
struct Step {
  const T* key;
  const T* value;
  const T* decay;  // nullptr: none
  bool one_decay;
  const T* beta;  // nullptr: u = v
};

// Updates S by one step; `u` holds a row of values.
template <typename T>
void Update(const Sizes& s, const Step<T>& step, T* state, T* u) {
  if (step.decay != nullptr) {
    for (int64_t i = 0; i < s.keys; ++i) {
      const T factor = std::exp(step.decay[step.one_decay ? 0 : i]);
      for (int64_t j = 0; j < s.values; ++j) {
        state[i * s.values + j] *= factor;
      }
    }
  }
  if (step.beta == nullptr) {
    std::copy_n(step.value, s.values, u);
  } else {
    std::fill_n(u, s.values, T{0});
    for (int64_t i = 0; i < s.keys; ++i) {
      for (int64_t j = 0; j < s.values; ++j) {
        u[j] += state[i * s.values + j] * step.key[i];
      }
    }
    for (int64_t j = 0; j < s.values; ++j) {
      u[j] = *step.beta * (step.value[j] - u[j]);
    }
  }
  for (int64_t i = 0; i < s.keys; ++i) {
    for (int64_t j = 0; j < s.values; ++j) {
      state[i * s.values + j] += step.key[i] * u[j];
    }
  }
}

// Computes out = scale * q' S.
template <typename T>
void Answer(const Sizes& s, const T* query, const T* state, T scale, T* out) {
  std::fill_n(out, s.values, T{0});
  for (int64_t i = 0; i < s.keys; ++i) {
    for (int64_t j = 0; j < s.values; ++j) {
      out[j] += query[i] * state[i * s.values + j];
    }
  }
  for (int64_t j = 0; j < s.values; ++j) {
    out[j] *= scale;
  }
}

// Processes each key head of each row independently, step by step.
template <typename T>
class LinearAttentionKernel final : public OpKernel {
 public:
  explicit LinearAttentionKernel(const OpKernelConstruction& construction)
      : scale_(construction.Attr<double>("scale")) {}

  void Prepare(KernelPreparation& preparation) override {
    sizes_ = SizesOf(preparation.query);
    if (scale_ == 0) {
      const auto size = static_cast<double>(std::max<int64_t>(sizes_.keys, 1));
      scale_ = 1 / std::sqrt(size);
    }
    const auto& outputs = preparation.query.outputs;
    empty_ = outputs[0].numel() == 0 && outputs[1].numel() == 0;
    if (empty_) return;
    preparation.scratch_bytes =
        sizeof(T) *
        static_cast<size_t>(sizes_.batch * sizes_.shared * sizes_.values);
  }

  void Compute(OpKernelContext& context) const override {
    const Sizes& s = sizes_;
    const auto given = [&](const char* name) -> const Tensor* {
      return context.HasInput(name) ? &context.Input(name) : nullptr;
    };
    const T* query = context.Input("Query").data<T>();
    const T* key = context.Input("Key").data<T>();
    const T* value = context.Input("Value").data<T>();
    const Tensor* decay = given("Decay");
    const Tensor* beta = given("Beta");
    const Tensor* past = given("PastState");
    T* out =
        context.AllocateOutput("Out", {s.batch, s.steps, s.heads * s.values})
            .template data<T>();
    T* states = context
                    .AllocateOutput("PresentState",
                                    {s.batch, s.shared, s.keys, s.values})
                    .template data<T>();
    if (empty_) return;
    const int64_t group = s.heads / s.shared;
    const int64_t each = s.keys * s.values;
    ParallelFor(s.batch * s.shared, 1, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        const int64_t row = n / s.shared, head = n % s.shared;
        T* state = states + n * each;
        T* u = static_cast<T*>(context.scratch()) + n * s.values;
        if (past == nullptr) {
          std::fill_n(state, each, T{0});
        } else {
          std::copy_n(past->data<T>() + n * each, each, state);
        }
        for (int64_t t = 0; t < s.steps; ++t) {
          CheckCancelled();
          const int64_t at = row * s.steps + t;
          const int64_t one = at * s.shared + head;
          Step<T> step{key + one * s.keys, value + one * s.values, nullptr,
                       false, nullptr};
          if (decay != nullptr) {
            step.one_decay = decay->dims()[2] == s.shared;
            step.decay = decay->data<T>() + one * (step.one_decay ? 1 : s.keys);
          }
          if (beta != nullptr) {
            const int64_t size = beta->dims()[2];
            step.beta = beta->data<T>() + at * size + (size > 1 ? head : 0);
          }
          Update(s, step, state, u);
          for (int64_t i = head * group; i < (head + 1) * group; ++i) {
            const int64_t place = at * s.heads + i;
            Answer(s, query + place * s.keys, state, static_cast<T>(scale_),
                   out + place * s.values);
          }
        }
      }
    });
  }

 private:
  double scale_;
  Sizes sizes_;
  bool empty_ = false;  // both outputs: sizes may be huge
};

KernelWork AttentionWork(const KernelQuery& query) {
  const Sizes s = SizesOf(query);
  KernelWork work = DefaultKernelWork(query);
  work.flops = static_cast<double>(s.batch * s.steps) *
               static_cast<double>(s.keys * s.values) *
               static_cast<double>(5 * s.shared + 2 * s.heads);
  work.max_threads = std::max(static_cast<double>(s.batch * s.shared), 1.0);
  return work;
}

}  // namespace

REGISTER_OPERATOR(linear_attention, LinearAttentionSchema);
REGISTER_OP_CPU_KERNEL(linear_attention,
                       EstimatedBy<&AttentionWork>,
                       LinearAttentionKernel<FloatTypes>);

}  // namespace sluice
