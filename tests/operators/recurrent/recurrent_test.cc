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

Tensor Full(const DDim& dims, float value) {
  return Tensor::FromVector<float>(
      dims, Floats(static_cast<size_t>(dims.numel()), value));
}

Tensor Lens(const std::vector<int32_t>& lens) {
  return Tensor::FromVector<int32_t>({static_cast<int64_t>(lens.size())}, lens);
}

Tensor Offsets(const std::vector<int64_t>& offsets) {
  return Tensor::FromVector<int64_t>({static_cast<int64_t>(offsets.size())},
                                     offsets);
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
