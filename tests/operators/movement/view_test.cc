#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::sluice::testing::ExpectError;
using ::sluice::testing::InferOpShapes;
using Ints = std::vector<int64_t>;

DDim Shape(const char* op, const DDim& x, const AttributeMap& attributes) {
  return InferOpShapes(op, {{"X", x}}, attributes).at("Out");
}

TEST(Squeeze, LeavesOutTheDimsNamedOrAllOfSize1) {
  EXPECT_EQ(Shape("squeeze", {1, 3, 1, 5}, {}), DDim({3, 5}));
  EXPECT_EQ(Shape("squeeze", {1, 3, 1, 5}, {{"axes", Ints{-2}}}),
            DDim({1, 3, 5}));
  EXPECT_EQ(Shape("squeeze", {-1, 3}, {{"axes", Ints{0}}}), DDim({3}));
  EXPECT_FALSE(Shape("squeeze", {-1, 3}, {}).rank_known());
}

TEST(Unsqueeze, CountsAxesInOut) {
  EXPECT_EQ(Shape("unsqueeze", {3, -1}, {{"axes", Ints{0, -1}}}),
            DDim({1, 3, -1, 1}));
  EXPECT_EQ(Shape("unsqueeze", {}, {{"axes", Ints{1, 0}}}), DDim({1, 1}));
  EXPECT_FALSE(Shape("unsqueeze", DDim::UnknownRank(), {{"axes", Ints{0}}})
                   .rank_known());
}

TEST(Flatten, MakesAMatrix) {
  EXPECT_EQ(Shape("flatten", {2, 3, 5}, {}), DDim({2, 15}));
  EXPECT_EQ(Shape("flatten", {2, 3, 5}, {{"axis", int64_t{0}}}), DDim({1, 30}));
  EXPECT_EQ(Shape("flatten", {2, 3, 5}, {{"axis", int64_t{3}}}), DDim({30, 1}));
  EXPECT_EQ(Shape("flatten", {2, -1, 5}, {{"axis", int64_t{-1}}}),
            DDim({-1, 5}));
  EXPECT_EQ(Shape("flatten", DDim::UnknownRank(), {}), DDim({-1, -1}));
}

void ViewRefuses(const char* op,
                 const DDim& x,
                 const AttributeMap& attributes,
                 const char* check,
                 std::initializer_list<std::string_view> words) {
  ExpectError(ErrorCode::kInvalidArgument, check, words,
              [&] { Shape(op, x, attributes); });
}

TEST(View, RefusesAxesThatDoNotFit) {
  ViewRefuses("squeeze", {1, 3}, {{"axes", Ints{2}}}, "view.axis",
              {"squeeze", "axes[0] = 2", "[1, 3]", "-2 to 1"});
  ViewRefuses("unsqueeze", {1, 3}, {{"axes", Ints{-4}}}, "view.axis",
              {"unsqueeze", "axes[0] = -4", "-3 to 2"});
  ViewRefuses("squeeze", {1, 3}, {{"axes", Ints{0, -2}}}, "view.axis_twice",
              {"axes[1] = -2"});
  ViewRefuses("squeeze", {1, 3}, {{"axes", Ints{1}}}, "squeeze.size",
              {"dim 1", "[1, 3]"});
  ViewRefuses("unsqueeze", {1, 3}, {{"axes", Ints(9, 0)}}, "unsqueeze.entries",
              {"axes has 9", "8"});
  ViewRefuses("unsqueeze", {1, 3}, {{"axes", Ints(7, 0)}}, "unsqueeze.rank",
              {"[1, 3]", "rank 9", "8"});
  ViewRefuses("flatten", {1, 3}, {{"axis", int64_t{3}}}, "flatten.axis",
              {"axis = 3", "-2 to 2", "[1, 3]"});
  ViewRefuses("flatten", {int64_t{1} << 40, int64_t{1} << 40},
              {{"axis", int64_t{0}}}, "flatten.overflow",
              {"input X", "64 bits"});
}

}  // namespace
}  // namespace sluice
