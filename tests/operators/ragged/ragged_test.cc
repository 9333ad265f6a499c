#include <cmath>

#include "tests/operators/ragged/offsets.h"
#include <gtest/gtest.h>

#include "sluice/framework/program/ragged_rows.h"
#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::OffsetsTensor;
using Floats = std::vector<float>;

Tensor Column(const Floats& values) {
  return Tensor::FromVector<float>({static_cast<int64_t>(values.size()), 1},
                                   values);
}

TEST(RowMap, RepeatsTheLastRowAsPadding) {
  const auto got = RunOp(
      "sequence_reverse",
      {{"X", Column({1, 2, 3, 9, 9})}, {"Offsets", OffsetsTensor({2, 1})}});
  EXPECT_EQ(got.at("Out").ToVector<float>(), (Floats{2, 1, 3, 3, 3}));
}

TEST(RowMap, IgnoresTheGradientOfPadding) {
  const Tensor nan = Column({1, 2, std::nanf("")});
  auto got = RunOp("sequence_reverse_grad",
                   {{"X", Column({0, 0, 0})},
                    {"Offsets", OffsetsTensor({2})},
                    {"Out@GRAD", nan}},
                   {}, {.outputs = {"X@GRAD"}});
  EXPECT_EQ(got["X@GRAD"].ToVector<float>(), (Floats{2, 1, 0}));
}

TEST(LodReset, EndsWhereTheTrueRowsDo) {
  const auto got = RunOp("lod_reset", {{"X", Column({1, 2, 3, 4})},
                                       {"XOffsets", OffsetsTensor({3})},
                                       {"Offsets", OffsetsTensor({1, 2})}});
  EXPECT_EQ(got.at("Out").ToVector<float>(), (Floats{1, 2, 3, 4}));
}

TEST(RowCapacity, GrowsByAQuarter) {
  EXPECT_EQ(RowCapacity(0), 0);
  EXPECT_EQ(RowCapacity(1), 16);
  EXPECT_EQ(RowCapacity(16), 16);
  EXPECT_EQ(RowCapacity(17), 20);
  EXPECT_EQ(RowCapacity(26), 31);
}

TEST(SequencePool, TakesNaNForTheMaximum) {
  const float nan = std::nanf("");
  const auto got = RunOp(
      "sequence_pool",
      {{"X", Column({1, nan, 3, nan})}, {"Offsets", OffsetsTensor({3, 0})}},
      {{"pooltype", std::string("MAX")}, {"pad_value", -1.0}});
  EXPECT_TRUE(std::isnan(got.at("Out").ToVector<float>()[0]));
  EXPECT_EQ(got.at("Out").ToVector<float>()[1], -1);
  EXPECT_EQ(got.at("MaxIndex").ToVector<int64_t>(),
            (std::vector<int64_t>{1, -1}));
}

TEST(SequenceReduce, LeavesPaddingOut) {
  const auto got = RunOp(
      "sequence_reduce",
      {{"X", Column({1, 2, 3, 100})}, {"Offsets", OffsetsTensor({2, 1})}});
  EXPECT_EQ(got.at("Out").ToVector<float>(), Floats{6});
}

}  // namespace
}  // namespace sluice
