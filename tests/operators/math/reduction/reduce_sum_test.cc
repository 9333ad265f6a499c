#include "sluice/operators/math/reduction/reduce_sum.h"

#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

using Mask = std::array<bool, DDim::kMaxRank>;

template <typename T>
std::vector<T> Sum(const DDim& dims, const Mask& summed, const T* x) {
  const ReducePlan plan = PlanReduce(dims, summed);
  std::vector<T> out(plan.axes.outputs);
  std::vector<double> scratch(plan.scratch_bytes / sizeof(double) + 1);
  ReduceSum(plan, x, out.data(), scratch.data());
  return out;
}

std::vector<int64_t> ElementwiseSum(const DDim& dims,
                                    const Mask& summed,
                                    const std::vector<int64_t>& x) {
  std::vector<int64_t> sums(PlanReduce(dims, summed).axes.outputs);
  for (size_t i = 0; i < x.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    int64_t at = 0;
    int64_t step = 1;
    for (int axis = dims.rank() - 1; axis >= 0; --axis) {
      if (!summed[axis]) {
        at += rest % dims[axis] * step;
        step *= dims[axis];
      }
      rest /= dims[axis];
    }
    sums[at] += x[i];
  }
  return sums;
}

TEST(ReduceSum, AgreesWithAddingEachElement) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    DDim dims;
    Mask summed{};
    const int rank = static_cast<int>(random() % 6);
    for (int axis = 0; axis < rank; ++axis) {
      const bool empty = random() % 40 == 0;
      dims.InsertDim(axis, empty ? 0 : static_cast<int64_t>(1 + random() % 4));
      summed[axis] = random() % 2 == 0;
    }
    // Long enough for chunks and for many columns.
    if (round % 200 == 0 && rank > 0) dims[rank - 1] = 70001;
    std::vector<int64_t> x(dims.numel());
    for (int64_t& value : x)
      value = static_cast<int64_t>(random() % 999) - 499;
    const std::vector<double> x_double(x.begin(), x.end());
    const std::vector<float> x_float(x.begin(), x.end());
    const std::vector<int64_t> expected = ElementwiseSum(dims, summed, x);
    ASSERT_EQ(Sum(dims, summed, x.data()), expected) << ToString(dims);
    const std::vector<double> of_double = Sum(dims, summed, x_double.data());
    const std::vector<float> of_float = Sum(dims, summed, x_float.data());
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(of_double[i], static_cast<double>(expected[i]));
      ASSERT_EQ(of_float[i], static_cast<float>(expected[i]));
    }
  }
}

TEST(ReduceSum, ManyFloatsLoseNothing) {
  const std::vector<float> x(1 << 22, 0.1f);
  const float sum = Sum({1 << 22}, {true}, x.data())[0];
  EXPECT_EQ(sum, static_cast<float>((1 << 22) * static_cast<double>(0.1f)));
}

TEST(ReduceSum, ColumnsOfDoublesAreCompensated) {
  std::vector<double> x{1e16, 1.0, 1.0, 1.0, -1e16, 1.0};
  EXPECT_EQ(Sum({3, 2}, {true}, x.data()), (std::vector<double>{1.0, 3.0}));
}

TEST(ReduceSum, InfinityStaysInfinity) {
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> x{1.0, infinity, 2.0};
  EXPECT_EQ(Sum({3, 1}, {true}, x.data())[0], infinity);
}

TEST(ReduceSum, IntegersWrapAround) {
  std::vector<int32_t> x{std::numeric_limits<int32_t>::max(), 1};
  EXPECT_EQ(Sum({2}, {true}, x.data())[0], std::numeric_limits<int32_t>::min());
}

TEST(ReduceSum, BitsDoNotDependOnTheNumberOfThreads) {
  std::mt19937 random(5);
  std::vector<float> x(600000);
  for (float& value : x)
    value = static_cast<float>(random()) * 1e-3f;
  const auto run = [&](int threads, const DDim& dims, const Mask& mask) {
    const ThreadCountGuard guard(threads);
    return Sum(dims, mask, x.data());
  };
  EXPECT_EQ(run(1, {600000}, {true}), run(4, {600000}, {true}));
  EXPECT_EQ(run(1, {3, 200000}, {true}), run(4, {3, 200000}, {true}));
  EXPECT_EQ(run(1, {2000, 300}, {false, true}),
            run(4, {2000, 300}, {false, true}));
  EXPECT_EQ(run(1, {60000, 10}, {true}), run(4, {60000, 10}, {true}));
}

TEST(ReduceSum, FewLongColumnsShareTheirRows) {
  std::mt19937 random(7);
  std::vector<int64_t> x(3 * 10001 * 67);
  for (int64_t& value : x)
    value = random() % 1000;
  const std::vector<double> doubles(x.begin(), x.end());
  for (const auto& [dims, mask] :
       {std::pair{DDim{30003, 67}, Mask{true}},
        std::pair{DDim{3, 10001, 67}, Mask{false, true}},
        std::pair{DDim{10001 * 67, 3}, Mask{true}}}) {
    ASSERT_TRUE(PlanReduce(dims, mask).share_rows);
    const auto want = ElementwiseSum(dims, mask, x);
    EXPECT_EQ(Sum(dims, mask, x.data()), want);
    EXPECT_EQ(Sum(dims, mask, doubles.data()),
              std::vector<double>(want.begin(), want.end()));
  }
}

}  // namespace
}  // namespace sluice
