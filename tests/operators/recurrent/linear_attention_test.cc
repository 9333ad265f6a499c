#include <string>
#include <string_view>
#include <vector>

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
