#include "tests/operators/ragged/ragged_examples.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

TEST(SequenceScatter, RefusesColumnsThatAreNone) {
  for (const int64_t bad : {int64_t{-1}, int64_t{3}}) {
    testing::ExpectError(
        ErrorCode::kOutOfRange, "sequence_scatter.id",
        {"Ids[0] = " + std::to_string(bad), "0 to 2"}, [&] {
          RunOp("sequence_scatter",
                {{"X", Tensor::FromVector<float>({1, 3}, {0, 0, 0})},
                 {"Ids", Tensor::FromVector<int64_t>({1, 1}, {bad})},
                 {"Offsets", testing::OffsetsTensor({1})},
                 {"Updates", Tensor::FromVector<float>({1, 1}, {1})}});
        });
  }
}

}  // namespace
}  // namespace sluice

namespace sluice::testing {
namespace {

constexpr int64_t kColumns = 4;

Arrays ScatterReference(const Arrays& in, const OpDesc& /*op*/) {
  Array out = in.at("X");
  const RowLists lists = RowsOfSequences(in);
  for (size_t b = 0; b < lists.size(); ++b) {
    for (const int64_t i : lists[b]) {
      out(b, in.at("Ids").values[i]) += in.at("Updates").values[i];
    }
  }
  return {{"Out", out}};
}

Arrays ScatterGradReference(const Arrays& in, const OpDesc& /*op*/) {
  Array grad(in.at("Updates").dims);
  const RowLists lists = RowsOfSequences(in);
  for (size_t b = 0; b < lists.size(); ++b) {
    for (const int64_t i : lists[b]) {
      grad.values[i] = in.at("Out@GRAD")(b, in.at("Ids").values[i]);
    }
  }
  return {{"Updates@GRAD", grad}};
}

std::vector<OpExample> ScatterExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const Lengths& lengths : ManyLengths()) {
    const int64_t rows = OffsetsOf(lengths).back();
    const auto count = static_cast<int64_t>(lengths.size());
    examples.push_back(
        {{{"X", make.Values({count, kColumns})},
          {"Ids", make.Integers(DType::kInt64, {rows, 1}, 0, kColumns - 1)},
          {"Offsets", OffsetsTensor(lengths)},
          {"Updates", make.Values({rows, 1})}},
         {}});
  }
  return examples;
}

std::vector<OpExample> ScatterGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = ScatterExamples(make);
  for (OpExample& example : examples) {
    const DDim dims = example.inputs[0].second.dims();
    example.inputs.erase(example.inputs.begin());
    example.inputs.emplace_back("Out@GRAD", make.Values(dims));
  }
  return examples;
}

REGISTER_OP_CASE(sequence_scatter, ScatterExamples, ScatterReference, 8);
REGISTER_OP_CASE(sequence_scatter_grad,
                 ScatterGradExamples,
                 ScatterGradReference);

}  // namespace
}  // namespace sluice::testing
