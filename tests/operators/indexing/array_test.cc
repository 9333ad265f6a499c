#include <cstdint>
#include <vector>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::ExpectError;

Tensor Number(int64_t value) {
  return Tensor::FromVector<int64_t>({1}, {value});
}
Tensor Pairs(const DDim& dims, const std::vector<float>& values) {
  return Tensor::FromVector<float>(dims, values);
}
const AttributeMap kThree = {{"capacity", int64_t{3}}};

TEST(Array, WritesOneElementAndKeepsTheOthers) {
  const Tensor array = Pairs({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor x = Pairs({2}, {7, 8});
  EXPECT_EQ(RunOp("array_write", {{"Array", array}, {"X", x}, {"I", Number(1)}},
                  kThree)["Out"]
                .ToVector<float>(),
            (std::vector<float>{1, 2, 7, 8, 5, 6}));
  EXPECT_EQ(RunOp("array_write", {{"X", x}, {"I", Number(2)}}, kThree)["Out"]
                .ToVector<float>(),
            (std::vector<float>{0, 0, 0, 0, 7, 8}));
  EXPECT_EQ(
      RunOp("array_write", {{"Array", array}, {"I", Number(0)}}, kThree)["Out"]
          .ToVector<float>(),
      (std::vector<float>{0, 0, 3, 4, 5, 6}));
}

// Elements of 2 numbers and different numbers of rows.
TEST(Array, GrowsToTheRowsOfTheLargestElement) {
  const AttributeMap grows = {{"capacity", int64_t{2}}, {"grows", true}};
  const Tensor array = Pairs({2, 1, 2}, {1, 2, 3, 4});
  const auto write = [&](const Tensor& to, const Tensor& x, int64_t i) {
    return RunOp("array_write", {{"Array", to}, {"X", x}, {"I", Number(i)}},
                 grows)["Out"];
  };
  const Tensor larger = write(array, Pairs({3, 2}, {5, 6, 7, 8, 9, 0}), 1);
  EXPECT_EQ(larger.dims(), (DDim{2, 3, 2}));
  EXPECT_EQ(larger.ToVector<float>(),
            (std::vector<float>{1, 2, 1, 2, 1, 2, 5, 6, 7, 8, 9, 0}));
  const Tensor smaller = write(larger, Pairs({2, 2}, {3, 3, 4, 4}), 0);
  EXPECT_EQ(smaller.ToVector<float>(),
            (std::vector<float>{3, 3, 4, 4, 4, 4, 5, 6, 7, 8, 9, 0}));
  const Tensor empty = write(larger, Pairs({0, 2}, {}), 1);
  EXPECT_EQ(empty.ToVector<float>(),
            (std::vector<float>{1, 2, 1, 2, 1, 2, 0, 0, 0, 0, 0, 0}));
  // An array without rows gets its first ones.
  const Tensor first = write(Pairs({2, 0, 2}, {}), Pairs({1, 2}, {1, 2}), 1);
  EXPECT_EQ(first.ToVector<float>(), (std::vector<float>{0, 0, 1, 2}));
  ExpectError(ErrorCode::kInvalidArgument, "array_write.shape", {"[3, 3]"},
              [&] {
                write(array, Pairs({3, 3}, std::vector<float>(9)), 0);
              });
}

TEST(Array, DoesNotReadAnElementThatHadFewerRows) {
  const Tensor array = Pairs({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor rows = Tensor::FromVector<int64_t>({3}, {1, 2, 2});
  const auto read = [&](int64_t i) {
    return RunOp("array_read",
                 {{"Array", array}, {"Rows", rows}, {"I", Number(i)}},
                 kThree)["Out"];
  };
  EXPECT_EQ(read(1).ToVector<float>(), (std::vector<float>{3, 4}));
  ExpectError(ErrorCode::kFailedPrecondition, "array_read.fewer_rows",
              {"element 0", "with 1 rows", "with 2"}, [&] { read(0); });
  ExpectError(ErrorCode::kInvalidArgument, "array_read.rows", {"[3]", "[1]"},
              [&] {
                RunOp("array_read",
                      {{"Array", array}, {"Rows", Number(1)}, {"I", Number(1)}},
                      kThree);
              });
}

}  // namespace
}  // namespace sluice
