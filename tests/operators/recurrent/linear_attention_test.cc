#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "tests/operators/harness/op_case.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::ExpectError;
using Floats = std::vector<float>;
using Inputs = std::vector<std::pair<std::string, Tensor>>;

AttributeMap Rule(const char* rule) {
  return {{"q_num_heads", int64_t{1}},
          {"kv_num_heads", int64_t{1}},
          {"update_rule", std::string(rule)}};
}

Inputs Rows(const Floats& query, const Floats& key, const Floats& value) {
  const auto row = [](const Floats& values) {
    return Tensor::FromVector<float>(
        {1, static_cast<int64_t>(values.size()), 1}, values);
  };
  return {{"Query", row(query)}, {"Key", row(key)}, {"Value", row(value)}};
}

TEST(LinearAttention, TheDeltaRuleReplacesWhatAKeyHolds) {
  Inputs inputs = Rows({1, 1}, {1, 1}, {5, 7});
  inputs.emplace_back("Beta", Tensor::FromVector<float>({1, 2, 1}, {1, 1}));
  const auto out = RunOp("linear_attention", inputs, Rule("delta"));
  EXPECT_EQ(out.at("Out").ToVector<float>(), (Floats{5, 7}));
  EXPECT_EQ(out.at("PresentState").ToVector<float>(), (Floats{7}));
}

TEST(LinearAttention, TheLinearRuleAddsToThePast) {
  Inputs inputs = Rows({1, 2}, {1, 1}, {5, 7});
  inputs.emplace_back("PastState",
                      Tensor::FromVector<float>({1, 1, 1, 1}, {100}));
  const auto out = RunOp("linear_attention", inputs, Rule("linear"));
  EXPECT_EQ(out.at("Out").ToVector<float>(), (Floats{105, 224}));
}

void ExpectRefused(const char* id,
                   std::initializer_list<std::string_view> words,
                   const AttributeMap& attributes,
                   const Inputs& inputs) {
  ExpectError(ErrorCode::kInvalidArgument, id, words,
              [&] { RunOp("linear_attention", inputs, attributes); });
}

TEST(LinearAttention, RefusesHeadsThatDoNotFit) {
  const Inputs inputs = Rows({1, 1}, {1, 1}, {5, 7});
  AttributeMap two = Rule("linear");
  two["kv_num_heads"] = int64_t{2};
  ExpectRefused("linear_attention.groups", {"q_num_heads is 1"}, two, inputs);
  two["q_num_heads"] = int64_t{2};
  ExpectRefused("linear_attention.heads", {"dim 2 of input Query is 1"}, two,
                inputs);
  Inputs wide = inputs;
  wide[1].second = Tensor::FromVector<float>({1, 2, 2}, {1, 1, 1, 1});
  ExpectRefused("linear_attention.key_size", {"input Key have 2"},
                Rule("linear"), wide);
}

TEST(LinearAttention, RefusesGatesThatTheRuleDoesNotHave) {
  Inputs inputs = Rows({1, 1}, {1, 1}, {5, 7});
  ExpectRefused("linear_attention.gates", {"Decay is missing", "gated"},
                Rule("gated"), inputs);
  inputs.emplace_back("Decay", Tensor::FromVector<float>({1, 2, 1}, {0, 0}));
  ExpectRefused("linear_attention.gates", {"Decay is given", "linear"},
                Rule("linear"), inputs);
  inputs.back().second = Tensor::FromVector<float>({1, 2, 2}, {0, 0, 0, 0});
  ExpectRefused("linear_attention.gate_size", {"dim 2 of input Decay is 2"},
                Rule("gated"), inputs);
}

}  // namespace
}  // namespace sluice

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

std::vector<OpExample> LinearAttentionExamples(ExampleMaker& make) {
  struct Form {
    const char* rule;
    int64_t batch, steps, heads, shared, keys, values;
    bool past = false, whole = false;  // a gate for each number of a key
    double scale = 0;
  };
  const Form forms[] = {
      {"gated_delta", 2, 3, 4, 2, 3, 5, true, true, 0.5},
      {"gated_delta", 1, 3, 3, 1, 2, 4},
      {"delta", 3, 2, 2, 2, 3, 1, true},
      {"gated", 2, 4, 1, 1, 4, 3, false, true},
      {"linear", 1, 1, 1, 1, 1, 1, true},
      {"linear", 0, 2, 2, 1, 3, 2, true},
      {"gated", 2, 0, 2, 1, 3, 2, true},
      {"delta", 2, 2, 2, 1, 0, 2},
      {"delta", 3, 7, 6, 3, 19, 21, true},
  };
  std::vector<OpExample> examples;
  for (const Form& f : forms) {
    const std::string rule = f.rule;
    const auto row = [&](int64_t size) {
      return make.Values({f.batch, f.steps, size});
    };
    OpExample example;
    auto& inputs = example.inputs;
    inputs.emplace_back("Query", row(f.heads * f.keys));
    inputs.emplace_back("Key", row(f.shared * f.keys));
    inputs.emplace_back("Value", row(f.shared * f.values));
    const auto small = [&](const Tensor& tensor) {
      Array values = ToArray(tensor);
      for (double& value : values.values) {
        value /= 32;
      }
      return ToTensor(values, make.dtype());
    };
    // Large keys make the delta rule diverge.
    inputs[1].second = small(inputs[1].second);
    if (f.past) {
      inputs.emplace_back("PastState",
                          make.Values({f.batch, f.shared, f.keys, f.values}));
    }
    if (rule.starts_with("gated")) {
      inputs.emplace_back("Decay",
                          small(row(f.shared * (f.whole ? f.keys : 1))));
    }
    if (rule.ends_with("delta")) {
      inputs.emplace_back("Beta", row(f.past ? 1 : f.shared));
    }
    example.attributes = {{"q_num_heads", f.heads},
                          {"kv_num_heads", f.shared},
                          {"update_rule", rule},
                          {"scale", f.scale}};
    examples.push_back(std::move(example));
  }
  return examples;
}

// The formulas element by element.
Arrays LinearAttentionReference(const Arrays& in, const OpDesc& op) {
  const Array &query = in.at("Query"), &key = in.at("Key"),
              &value = in.at("Value");
  const auto heads = GetAttr<int64_t>(op, "q_num_heads");
  const auto shared = GetAttr<int64_t>(op, "kv_num_heads");
  const int64_t batch = query.dims[0], steps = query.dims[1];
  const int64_t keys = query.dims[2] / heads, values = value.dims[2] / shared;
  auto scale = GetAttr<double>(op, "scale");
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(keys));
  Array out({batch, steps, heads * values});
  Array state({batch, shared, keys, values});
  if (in.count("PastState") > 0) state = in.at("PastState");
  // Element i of head h of a gate: of each element, each head or all.
  const auto gate = [&](const char* name, int64_t b, int64_t t, int64_t h,
                        int64_t i, double otherwise) {
    if (in.count(name) == 0) return otherwise;
    const Array& given = in.at(name);
    const int64_t size = given.dims[2];
    if (size == 1) return given(b, t, int64_t{0});
    return size == shared ? given(b, t, h) : given(b, t, h * keys + i);
  };
  const bool delta = in.count("Beta") > 0;
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t t = 0; t < steps; ++t) {
      for (int64_t h = 0; h < shared; ++h) {
        for (int64_t j = 0; j < values; ++j) {
          double seen = 0;
          for (int64_t i = 0; i < keys; ++i) {
            state(b, h, i, j) *= std::exp(gate("Decay", b, t, h, i, 0));
            seen += state(b, h, i, j) * key(b, t, h * keys + i);
          }
          const double v = value(b, t, h * values + j);
          const double u = delta ? gate("Beta", b, t, h, 0, 1) * (v - seen) : v;
          for (int64_t i = 0; i < keys; ++i) {
            state(b, h, i, j) += key(b, t, h * keys + i) * u;
          }
        }
      }
      for (int64_t q = 0; q < heads; ++q) {
        for (int64_t j = 0; j < values; ++j) {
          double sum = 0;
          for (int64_t i = 0; i < keys; ++i) {
            sum += query(b, t, q * keys + i) *
                   state(b, q / (heads / shared), i, j);
          }
          out(b, t, q * values + j) = keys == 0 ? 0 : scale * sum;
        }
      }
    }
  }
  return {{"Out", out}, {"PresentState", state}};
}

}  // namespace

REGISTER_OP_CASE(linear_attention,
                 LinearAttentionExamples,
                 LinearAttentionReference,
                 16);

}  // namespace sluice::testing
