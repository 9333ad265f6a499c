#include <algorithm>
#include <cmath>

#include "tests/operators/ragged/ragged_examples.h"
#include <gtest/gtest.h>

#include "sluice/framework/program/ragged_rows.h"
#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

Tensor FourRows() {
  return Tensor::FromVector<float>({4, 1}, {1, 2, 3, 4});
}

TEST(LodReset, EndsWhereTheTrueRowsDo) {
  const auto got =
      RunOp("lod_reset", {{"X", FourRows()},
                          {"XOffsets", testing::OffsetsTensor({3})},
                          {"Offsets", testing::OffsetsTensor({1, 2})}});
  EXPECT_EQ(got.at("Out").ToVector<float>(), (std::vector<float>{1, 2, 3, 4}));
}

TEST(RowCapacity, GrowsByAQuarter) {
  EXPECT_EQ(RowCapacity(0), 0);
  EXPECT_EQ(RowCapacity(1), 16);
  EXPECT_EQ(RowCapacity(16), 16);
  EXPECT_EQ(RowCapacity(17), 20);
  EXPECT_EQ(RowCapacity(26), 31);
}

}  // namespace
}  // namespace sluice

namespace sluice::testing {
namespace {

Arrays LodResetReference(const Arrays& in, const OpDesc& /*op*/) {
  return {{"Out", in.at("X")}};
}

std::vector<OpExample> LodResetExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const Lengths& lengths : ManyLengths()) {
    examples.push_back({{{"X", make.Values({OffsetsOf(lengths).back(), 3})},
                         {"Offsets", OffsetsTensor(lengths)}},
                        {}});
  }
  return examples;
}

Arrays LongestReference(const Arrays& in, const OpDesc& /*op*/) {
  Array out({1});
  for (const auto& rows : RowsOfSequences(in)) {
    out.values[0] = std::max(out.values[0], static_cast<double>(rows.size()));
  }
  return {{"Out", out}};
}

Arrays ExpandRowsReference(const Arrays& in, const OpDesc& /*op*/) {
  const RowLists from = RowsOfSequences(in);
  const RowLists times = RowsOfSequences(in, "YOffsets");
  double rows = 0;
  for (size_t b = 0; b < from.size(); ++b) {
    rows += static_cast<double>(from[b].size() * times[b].size());
  }
  Array out({1});
  // 16, 20, 25, ...: integers a quarter apart.
  double capacity = rows == 0 ? 0 : 16;
  while (capacity < rows) {
    capacity = std::floor(capacity * 1.25);
  }
  out.values[0] = capacity;
  return {{"Out", out}};
}

std::vector<OpExample> ExpandRowsExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = LodResetExamples(make);
  size_t at = 0;
  for (Lengths lengths : ManyLengths()) {
    std::reverse(lengths.begin(), lengths.end());
    auto& inputs = examples[at++].inputs;
    inputs.insert(inputs.begin() + 1,
                  {"Y", make.Values({OffsetsOf(lengths).back(), 1})});
    inputs.emplace_back("YOffsets", OffsetsTensor(lengths));
  }
  return examples;
}

REGISTER_OP_CASE(lod_reset, LodResetExamples, LodResetReference);
REGISTER_OP_CASE(sequence_longest, LodResetExamples, LongestReference);
REGISTER_OP_CASE(sequence_expand_rows, ExpandRowsExamples, ExpandRowsReference);

}  // namespace
}  // namespace sluice::testing
