#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::ExpectError;
using ::sluice::testing::InferOpShapes;
using Floats = std::vector<float>;
using Names = std::vector<std::string>;
using Doubles = std::vector<double>;
using Inputs = std::vector<std::pair<std::string, Tensor>>;

const Names kVariants = {"plain", "blocked"};

Tensor Full(const DDim& dims, float value) {
  return Tensor::FromVector<float>(
      dims, Floats(static_cast<size_t>(dims.numel()), value));
}

Tensor Lens(const std::vector<int32_t>& lens) {
  return Tensor::FromVector<int32_t>({static_cast<int64_t>(lens.size())}, lens);
}

// Sums: h = x + h.
const AttributeMap kSum = {{"activations", Names{"affine"}}};

// One input and one unit, whose weights are 1.
Inputs Sums(const Tensor& x) {
  return {{"X", x}, {"W", Full({1, 1, 1}, 1)}, {"R", Full({1, 1, 1}, 1)}};
}

std::map<std::string, Tensor> RunVariant(const std::string& op,
                                         const Inputs& inputs,
                                         const AttributeMap& attributes,
                                         const std::string& variant) {
  RunOpOptions options;
  options.outputs = {"Y", "LastH"};
  options.hint = op + ": require variant=" + variant;
  return RunOp(op, inputs, attributes, options);
}

TEST(Recurrent, StepsPastTheEndOfARowGiveZeroAndKeepItsState) {
  const Tensor x =
      Tensor::FromVector<float>({3, 3, 1}, {1, 10, 5, 2, 20, 6, 3, 30, 7});
  Inputs inputs = Sums(x);
  inputs.emplace_back("SequenceLens", Lens({3, 1, 0}));
  inputs.emplace_back("InitialH",
                      Tensor::FromVector<float>({1, 3, 1}, {100, 200, 300}));
  for (const std::string& variant : kVariants) {
    auto out = RunVariant("simple_rnn", inputs, kSum, variant);
    EXPECT_EQ(out["Y"].ToVector<float>(),
              (Floats{101, 210, 0, 103, 0, 0, 106, 0, 0}));
    EXPECT_EQ(out["LastH"].ToVector<float>(), (Floats{106, 210, 300}));
  }
}

TEST(Recurrent, ReverseStartsAtTheEndOfEachRow) {
  Inputs inputs =
      Sums(Tensor::FromVector<float>({3, 2, 1}, {1, 10, 2, 20, 3, 30}));
  inputs.emplace_back("SequenceLens", Lens({3, 2}));
  AttributeMap attributes = kSum;
  attributes["direction"] = std::string("reverse");
  for (const std::string& variant : kVariants) {
    auto out = RunVariant("simple_rnn", inputs, attributes, variant);
    EXPECT_EQ(out["Y"].ToVector<float>(), (Floats{6, 30, 5, 20, 3, 0}));
    EXPECT_EQ(out["LastH"].ToVector<float>(), (Floats{6, 30}));
  }
}

TEST(Recurrent, ANaNStaysInItsRowAndPastTheEndIsNotSeen) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Inputs inputs =
      Sums(Tensor::FromVector<float>({2, 3, 1}, {1, nan, 2, 3, 4, nan}));
  inputs.emplace_back("SequenceLens", Lens({2, 2, 1}));
  for (const std::string& variant : kVariants) {
    const Floats last =
        RunVariant("simple_rnn", inputs, {{"clip", 2.0}}, variant)["LastH"]
            .ToVector<float>();
    EXPECT_FALSE(std::isnan(last[0]));
    EXPECT_TRUE(std::isnan(last[1]));
    EXPECT_FLOAT_EQ(last[2], std::tanh(2.0F));
  }
}

Tensor Offsets(const std::vector<int64_t>& offsets) {
  return Tensor::FromVector<int64_t>({static_cast<int64_t>(offsets.size())},
                                     offsets);
}

TEST(Recurrent, RaggedRowsAreSequencesAndTheirPaddingIsNotRead) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Inputs inputs =
      Sums(Tensor::FromVector<float>({5, 1}, {1, 10, 20, nan, nan}));
  inputs.emplace_back("Offsets", Offsets({0, 1, 1, 3}));
  inputs.emplace_back("InitialH",
                      Tensor::FromVector<float>({1, 3, 1}, {100, 200, 300}));
  for (const std::string& variant : kVariants) {
    auto out = RunVariant("simple_rnn", inputs, kSum, variant);
    EXPECT_EQ(out["Y"].ToVector<float>(), (Floats{101, 310, 330, 330, 330}));
    EXPECT_EQ(out["LastH"].ToVector<float>(), (Floats{101, 200, 330}));
    AttributeMap reverse = kSum;
    reverse["direction"] = std::string("reverse");
    out = RunVariant("simple_rnn", inputs, reverse, variant);
    EXPECT_EQ(out["Y"].ToVector<float>(), (Floats{101, 330, 320, 320, 320}));
  }
}

TEST(Recurrent, PaddingOfRaggedRowsHasNoGradient) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Inputs inputs = Sums(Tensor::FromVector<float>({4, 1}, {1, 10, nan, nan}));
  inputs.emplace_back("Offsets", Offsets({0, 2}));
  inputs.emplace_back("Y", Tensor::FromVector<float>({4, 1, 1}, {1, 11, 0, 0}));
  inputs.emplace_back("Y@GRAD",
                      Tensor::FromVector<float>({4, 1, 1}, {1, 1, nan, nan}));
  for (const std::string& variant : kVariants) {
    RunOpOptions options;
    options.outputs = {"X@GRAD", "W@GRAD", "R@GRAD", "Bias@GRAD"};
    options.hint = "simple_rnn_grad: require variant=" + variant;
    auto out = RunOp("simple_rnn_grad", inputs, kSum, options);
    EXPECT_EQ(out["X@GRAD"].ToVector<float>(), (Floats{2, 1, 0, 0}));
    EXPECT_EQ(out["W@GRAD"].ToVector<float>(), (Floats{12}));
    EXPECT_EQ(out["R@GRAD"].ToVector<float>(), (Floats{1}));
    EXPECT_EQ(out["Bias@GRAD"].ToVector<float>(), (Floats{3, 3}));
  }
}

TEST(Recurrent, InfersUnknownSizesFromTheWeights) {
  auto shapes = InferOpShapes(
      "lstm", {{"X", {-1, -1, 3}}, {"W", {2, 20, -1}}, {"R", {2, -1, -1}}},
      {{"direction", std::string("bidirectional")}});
  EXPECT_EQ(shapes.at("Y"), DDim({-1, 2, -1, 5}));
  EXPECT_EQ(shapes.at("LastC"), DDim({2, -1, 5}));
}

class RecurrentRefuses : public ::testing::Test {
 protected:
  // Expects an error of a lstm with 2 steps, 1 row, 3 inputs and 2 units.
  void Expect(ErrorCode code,
              const char* id,
              std::initializer_list<std::string_view> words,
              const AttributeMap& attributes,
              const Inputs& other = {}) {
    Inputs inputs = {{"X", Full({2, 1, 3}, 1)},
                     {"W", Full({1, 8, 3}, 1)},
                     {"R", Full({1, 8, 2}, 1)}};
    for (const auto& [name, tensor] : other) {
      std::erase_if(inputs, [&, &wanted = name](const auto& given) {
        return given.first == wanted;
      });
      inputs.emplace_back(name, tensor);
    }
    ExpectError(code, id, words, [&] { RunOp("lstm", inputs, attributes); });
  }
};

TEST_F(RecurrentRefuses, ActivationsThatDoNotFit) {
  Expect(ErrorCode::kInvalidArgument, "recurrent.activation_count",
         {"2 names; expected 3"}, {{"activations", Names{"tanh", "tanh"}}});
  Expect(ErrorCode::kInvalidArgument, "recurrent.activation",
         {"names tahn", "scaled_tanh"},
         {{"activations", Names{"tanh", "tahn", "tanh"}}});
  for (const char* name : {"activation_alpha", "activation_beta"}) {
    Expect(
        ErrorCode::kInvalidArgument, "recurrent.activation_values",
        {name, "1 numbers", "3 names"},
        {{"activations", Names{"tanh", "tanh", "tanh"}}, {name, Doubles{1}}});
  }
}

TEST_F(RecurrentRefuses, WeightsOfOtherSizes) {
  Expect(ErrorCode::kInvalidArgument, "recurrent.units",
         {"dim 1 of input W is 9", "4 for each of the 2"}, {},
         {{"W", Full({1, 9, 3}, 1)}});
  Expect(ErrorCode::kInvalidArgument, "recurrent.units",
         {"dim 1 of input Bias is 8"}, {}, {{"Bias", Full({1, 8}, 1)}});
  Expect(ErrorCode::kInvalidArgument, "recurrent.units",
         {"dim 2 of input InitialC is 3"}, {},
         {{"InitialC", Full({1, 1, 3}, 1)}});
  ExpectError(
      ErrorCode::kInvalidArgument, "recurrent.units_multiple",
      {"gru", "dim 1 of input R is 8; expected a multiple of 3"}, [] {
        InferOpShapes(
            "gru", {{"X", {-1, -1, 3}}, {"W", {1, -1, -1}}, {"R", {1, 8, -1}}});
      });
}

TEST_F(RecurrentRefuses, RaggedRowsWithWrongOffsets) {
  const auto expect = [&](const char* id,
                          std::initializer_list<std::string_view> words,
                          const std::vector<int64_t>& offsets,
                          const AttributeMap& attributes = {}) {
    Expect(ErrorCode::kInvalidArgument, id, words, attributes,
           {{"X", Full({3, 3}, 1)}, {"Offsets", Offsets(offsets)}});
  };
  expect("sequences.fall", {"Offsets[1] = 2, Offsets[2] = 1"}, {0, 2, 1, 3});
  expect("sequences.start", {"start at 0, got 1"}, {1, 3});
  expect("sequences.end", {"end at 4", "3 rows"}, {0, 4});
  expect("ragged.no_first_offset", {"Offsets"}, {});
  expect("recurrent.ragged_batch_first", {"batch_first must be false"}, {0, 3},
         {{"batch_first", true}});
  Expect(ErrorCode::kInvalidArgument, "recurrent.offsets_and_lens",
         {"leave out input SequenceLens"}, {},
         {{"X", Full({3, 3}, 1)},
          {"Offsets", Offsets({0, 3})},
          {"SequenceLens", Lens({3})}});
}

TEST_F(RecurrentRefuses, ProductsOfAnotherSize) {
  ExpectError(
      ErrorCode::kInvalidArgument, "recurrent.units",
      {"dim 2 of input X is 7; expected 4 for each of the 2"}, [] {
        RunOp("lstm", {{"X", Full({2, 1, 7}, 1)}, {"R", Full({1, 8, 2}, 1)}});
      });
}

TEST_F(RecurrentRefuses, LengthsThatXDoesNotHave) {
  for (const int32_t wrong : {-1, 3}) {
    Expect(ErrorCode::kOutOfRange, "recurrent.sequence_lens",
           {"element 0 of input SequenceLens is", "expected 0 to 2"}, {},
           {{"SequenceLens", Lens({wrong})}});
  }
}

}  // namespace
}  // namespace sluice
