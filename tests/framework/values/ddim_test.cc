#include "sluice/framework/values/ddim.h"

#include <utility>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/platform/error.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;

TEST(DDimTest, IsAScalarByDefault) {
  const DDim dims;
  EXPECT_EQ(dims.rank(), 0);
  EXPECT_EQ(dims.numel(), 1);
  EXPECT_TRUE(dims.known());
  EXPECT_EQ(ToString(dims), "[]");
}

TEST(DDimTest, PrintsUnknownSizesAndRanks) {
  EXPECT_EQ(ToString(DDim({-1, 10})), "[?, 10]");
  EXPECT_EQ(ToString(DDim::UnknownRank()), "[...]");
  EXPECT_FALSE(DDim({-1, 10}).known());
  EXPECT_FALSE(DDim::UnknownRank().known());
  EXPECT_FALSE(DDim::UnknownRank().rank_known());
}

TEST(DDimTest, ComparesRankAndSizes) {
  EXPECT_EQ(DDim({2, 3}), DDim({2, 3}));
  EXPECT_FALSE(DDim({2, 3}) == DDim({2, 3, 1}));
  EXPECT_FALSE(DDim({2, 3}) == DDim({3, 2}));
  EXPECT_FALSE(DDim() == DDim::UnknownRank());
}

TEST(DDimTest, RefusesTooManyDimensions) {
  EXPECT_EQ(DDim({1, 2, 3, 4, 5, 6, 7, 8}).rank(), 8);
  ExpectError(ErrorCode::kInvalidArgument, "ddim.rank", {"at most 8", "got 9"},
              [] {
                DDim({1, 2, 3, 4, 5, 6, 7, 8, 9});
              });
}

TEST(DDimTest, RefusesNegativeSizes) {
  ExpectError(ErrorCode::kInvalidArgument, "ddim.negative", {"dim 1 is -2"},
              [] {
                DDim({3, -2});
              });
}

TEST(DDimTest, ChecksTheAxisOfAt) {
  const DDim dims({4, 5, 6});
  EXPECT_EQ(dims.at(0), 4);
  EXPECT_EQ(dims.at(-1), 6);
  for (const int axis : {3, -4}) {
    ExpectError(ErrorCode::kOutOfRange, "ddim.axis", {"[4, 5, 6]"},
                [&] { static_cast<void>(dims.at(axis)); });
  }
}

TEST(DDimTest, HasNoSizesWhileTheRankIsUnknown) {
  DDim dims = DDim::UnknownRank();
  ExpectError(ErrorCode::kInvalidArgument, "ddim.unknown_rank", {},
              [&] { dims[0] = 1; });
  ExpectError(ErrorCode::kInvalidArgument, "ddim.unknown_rank", {},
              [&] { static_cast<void>(std::as_const(dims)[0]); });
  ExpectError(ErrorCode::kInvalidArgument, "ddim.unknown_rank", {},
              [&] { static_cast<void>(dims.Product(0, 1)); });
}

TEST(DDimTest, CountsElements) {
  EXPECT_EQ(DDim({4, 5, 6}).numel(), 120);
  EXPECT_EQ(DDim({4, 5, 6}).Product(1, 3), 30);
  EXPECT_EQ(DDim({4, 0, 6}).numel(), 0);
}

TEST(DDimTest, RefusesToCountUnknownSizes) {
  ExpectError(ErrorCode::kInvalidArgument, "ddim.unknown", {"dim 1", "[2, ?]"},
              [] {
                static_cast<void>(DDim({2, -1}).numel());
              });
  ExpectError(ErrorCode::kInvalidArgument, "ddim.unknown_rank", {},
              [] { static_cast<void>(DDim::UnknownRank().numel()); });
}

TEST(DDimTest, NoticesOverflow) {
  const int64_t big = int64_t{1} << 32;
  ExpectError(ErrorCode::kOutOfRange, "ddim.overflow", {"64 bits"}, [&] {
    static_cast<void>(DDim({big, big}).numel());
  });
  EXPECT_EQ(DDim({big, int64_t{1} << 30}).numel(), int64_t{1} << 62);
  // A zero at any position makes it empty. Kernels still multiply the others.
  EXPECT_EQ(DDim({big, 0, 2}).numel(), 0);
  for (const DDim& dims : {DDim{big, big, 0}, {0, big, big}}) {
    ExpectError(ErrorCode::kOutOfRange, "ddim.overflow", {"64 bits"},
                [&] { static_cast<void>(dims.numel()); });
  }
}

TEST(DDimTest, RemovesDimensions) {
  DDim dims({2, 3, 4, 5});
  dims.RemoveDimRange(1, -2);
  EXPECT_EQ(dims, DDim({2, 5}));
  dims.RemoveDimRange(0, -1);
  EXPECT_EQ(dims, DDim());
  DDim other({2, 3});
  other.RemoveDimRange(1, 1);
  EXPECT_EQ(other, DDim({2, 3}));
  ExpectError(ErrorCode::kOutOfRange, "ddim.remove_range", {"[1, 3)"},
              [&] { other.RemoveDimRange(1, 3); });
}

TEST(DDimTest, InsertsDimensions) {
  DDim dims({2, 5});
  dims.InsertDim(1, 3);
  EXPECT_EQ(dims, DDim({2, 3, 5}));
  dims.InsertDim(-1, 7);
  EXPECT_EQ(dims, DDim({2, 3, 5, 7}));
  ExpectError(ErrorCode::kOutOfRange, "ddim.insert", {"at 5"},
              [&] { dims.InsertDim(5, 1); });
  DDim full({1, 2, 3, 4, 5, 6, 7, 8});
  ExpectError(ErrorCode::kOutOfRange, "ddim.insert", {},
              [&] { full.InsertDim(0, 1); });
}

TEST(DDimTest, CutsSubshapes) {
  const DDim dims({2, 3, 4});
  EXPECT_EQ(dims.Subshape(1, 3), DDim({3, 4}));
  EXPECT_EQ(dims.Subshape(1, 1), DDim());
  ExpectError(ErrorCode::kOutOfRange, "ddim.subshape", {"[2, 4)"},
              [&] { static_cast<void>(dims.Subshape(2, 4)); });
}

}  // namespace
}  // namespace sluice
