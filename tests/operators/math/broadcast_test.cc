#include "sluice/operators/math/broadcast.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/operators/binary/broadcast_binary.h"

namespace sluice {
namespace {

DDim Common(const DDim& x, const DDim& y, int64_t axis = -1) {
  DDim result;
  EXPECT_EQ(BroadcastShape(x, y, axis, &result), -1);
  return result;
}

TEST(BroadcastShape, AlignsTheLastDimensions) {
  EXPECT_EQ(Common({4, 3}, {3}), DDim({4, 3}));
  EXPECT_EQ(Common({3}, {4, 3}), DDim({4, 3}));
  EXPECT_EQ(Common({4, 1}, {1, 5}), DDim({4, 5}));
  EXPECT_EQ(Common({}, {2, 2}), DDim({2, 2}));
  EXPECT_EQ(Common({1}, {0}), DDim({0}));
}

TEST(BroadcastShape, AxisPlacesTheFirstDimensionOfY) {
  EXPECT_EQ(Common({2, 3, 4}, {3}, 1), DDim({2, 3, 4}));
  EXPECT_EQ(Common({2, 3, 4}, {2, 3}, 0), DDim({2, 3, 4}));
}

TEST(BroadcastShape, SaysWhereSizesContradict) {
  DDim result;
  EXPECT_EQ(BroadcastShape({2, 3}, {2}, -1, &result), 1);
  EXPECT_EQ(BroadcastShape({2, 3}, {3}, 0, &result), 0);
  EXPECT_EQ(BroadcastShape({0}, {2}, -1, &result), 0);
}

TEST(BroadcastShape, UnknownSizesPass) {
  EXPECT_EQ(Common({-1, 3}, {5, 3}), DDim({5, 3}));
  EXPECT_EQ(Common({-1}, {1}), DDim({-1}));
  EXPECT_EQ(Common({-1}, {-1}), DDim({-1}));
  EXPECT_EQ(Common({1}, {-1}), DDim({-1}));
  EXPECT_EQ(Common({4}, {-1}), DDim({4}));
}

TEST(PlanBroadcast, FusesNeighboursThatLieAlike) {
  EXPECT_EQ(PlanBroadcast({2, 3, 4}, {2, 3, 4}, -1).rank, 1);
  const BroadcastPlan rows = PlanBroadcast({2, 3, 4}, {3, 4}, -1);
  EXPECT_EQ(rows.rank, 2);
  EXPECT_EQ(rows.row_size(), 12);
  EXPECT_EQ(PlanBroadcast({2, 1, 4}, {1}, -1).rank, 1);
  EXPECT_EQ(PlanBroadcast({1, 1}, {}, -1).row_count(), 1);
}

// The element of `dims`, broadcast to `out`, at `index` of out.
int64_t ElementAt(const DDim& dims, const DDim& out, int64_t axis, int64_t i) {
  int64_t offset = 0;
  int64_t step = 1;
  const int64_t first = axis == -1 ? out.rank() - dims.rank() : axis;
  for (int k = out.rank() - 1; k >= 0; --k) {
    const int64_t at = i % out[k];
    i /= out[k];
    const int64_t own = k - first;
    if (own < 0 || own >= dims.rank()) continue;
    if (dims[static_cast<int>(own)] != 1) offset += at * step;
    step *= dims[static_cast<int>(own)];
  }
  return offset;
}

TEST(BinaryFunction, AgreesWithIndexingEachElement) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    const int rank = static_cast<int>(random() % 5);
    const int y_rank = rank == 0 ? 0 : static_cast<int>(random() % (rank + 1));
    const bool by_axis = random() % 2 == 0;
    const int64_t first =
        by_axis ? static_cast<int64_t>(random() % (rank - y_rank + 1))
                : rank - y_rank;
    DDim x;
    DDim y;
    for (int k = 0; k < rank; ++k) {
      const auto size = static_cast<int64_t>(1 + random() % 5);
      x.InsertDim(k, random() % 4 == 0 ? 1 : size);
      if (k >= first && k < first + y_rank) {
        y.InsertDim(y.rank(), random() % 4 == 0 ? 1 : size);
      }
    }
    const int64_t axis = by_axis ? first : -1;
    const DDim out = Common(x, y, axis);
    std::vector<int32_t> x_data(x.numel());
    std::vector<int32_t> y_data(y.numel());
    for (auto& value : x_data)
      value = static_cast<int32_t>(random() % 1000);
    for (auto& value : y_data)
      value = static_cast<int32_t>(random() % 1000);
    std::vector<int32_t> sum(out.numel(), -1);
    BinaryFunction(*FindBinaryRow("elementwise_add"), DType::kInt32)
        .Broadcast(PlanBroadcast(x, y, axis), x_data.data(), y_data.data(),
                   sum.data());
    for (int64_t i = 0; i < out.numel(); ++i) {
      ASSERT_EQ(sum[i], x_data[ElementAt(x, out, -1, i)] +
                            y_data[ElementAt(y, out, axis, i)])
          << ToString(x) << " + " << ToString(y) << " at axis " << axis;
    }
  }
}

TEST(BinaryFunction, LongRowsAreSharedAmongThreads) {
  const DDim x{300, 1000};
  std::vector<float> x_data(x.numel());
  for (int64_t i = 0; i < x.numel(); ++i)
    x_data[i] = static_cast<float>(i);
  std::vector<float> y_data(1000);
  for (int64_t i = 0; i < 1000; ++i)
    y_data[i] = static_cast<float>(-2 * i);
  std::vector<float> sum(x.numel());
  BinaryFunction(*FindBinaryRow("elementwise_add"), DType::kFloat32)
      .Broadcast(PlanBroadcast(x, {1000}, -1), x_data.data(), y_data.data(),
                 sum.data());
  for (int64_t i = 0; i < x.numel(); ++i) {
    ASSERT_EQ(sum[i], x_data[i] + y_data[i % 1000]) << i;
  }
}

template <typename T>
void CheckShortRows(const DDim& x, const DDim& y) {
  const DDim out = Common(x, y);
  std::vector<T> x_data(x.numel()), y_data(y.numel()), sum(out.numel());
  for (int64_t i = 0; i < x.numel(); ++i)
    x_data[i] = static_cast<T>(i % 100);
  for (int64_t i = 0; i < y.numel(); ++i)
    y_data[i] = static_cast<T>(i % 27);
  BinaryFunction(*FindBinaryRow("elementwise_add"), kDTypeOf<T>)
      .Broadcast(PlanBroadcast(x, y, -1), x_data.data(), y_data.data(),
                 sum.data());
  for (int64_t i = 0; i < out.numel(); ++i) {
    ASSERT_EQ(sum[i], x_data[ElementAt(x, out, -1, i)] +
                          y_data[ElementAt(y, out, -1, i)])
        << ToString(x) << " + " << ToString(y) << " at " << i;
  }
}

// Many of them are computed together, of operands of which one is shared,
// copied, or read where it is.
TEST(BinaryFunction, ShortRowsOfManyBlocks) {
  for (const int64_t row : {2, 3, 7, 16, 17}) {
    const DDim x{1009, row};
    for (const DDim& y : {DDim{row}, DDim{1009, 1}, DDim{1, row}}) {
      CheckShortRows<uint8_t>(x, y);
      CheckShortRows<float>(x, y);
      CheckShortRows<double>(y, x);
    }
    CheckShortRows<float>({50, 20, row}, {50, 1, row});
    CheckShortRows<float>({50, 1, row}, {1, 20, 1});
  }
}

}  // namespace
}  // namespace sluice
