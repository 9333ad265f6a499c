#include <cmath>
#include <limits>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

// arg_max and arg_min.
namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;
using Indices = std::vector<int64_t>;

Indices Best(const char* op,
             const Tensor& x,
             const AttributeMap& attributes = {}) {
  return RunOp(op, {{"X", x}}, attributes)["Out"].ToVector<int64_t>();
}

// Rows are searched in blocks, adjacent columns together.
TEST(ArgBest, TheFirstOfEqualElementsCountsOrTheLast) {
  for (const auto& [dims, axis] :
       std::vector<std::pair<DDim, int64_t>>{{{1, 100}, 1}, {{100, 3}, 0}}) {
    Tensor x = Tensor::FromVector<double>(
        dims, std::vector<double>(static_cast<size_t>(dims.numel()), 5));
    const int64_t step = dims[1] == 3 ? 3 : 1;
    for (const int64_t i : {40, 41, 77}) {
      x.data<double>()[i * step] = 8;
    }
    AttributeMap attributes = {{"axis", axis}};
    EXPECT_EQ(Best("arg_max", x, attributes)[0], 40);
    EXPECT_EQ(Best("arg_min", x, attributes)[0], 0);
    attributes["select_last_index"] = true;
    EXPECT_EQ(Best("arg_max", x, attributes)[0], 77);
    EXPECT_EQ(Best("arg_min", x, attributes)[0], 99);
  }
}

TEST(ArgBest, NanComesBeforeEveryNumber) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float nan = std::nanf("");
  const Tensor x =
      Tensor::FromVector<float>({6}, {1, nan, kInfinity, -kInfinity, nan, 2});
  for (const char* op : {"arg_max", "arg_min"}) {
    EXPECT_EQ(Best(op, x), (Indices{1})) << op;
    EXPECT_EQ(Best(op, x, {{"select_last_index", true}}), (Indices{4})) << op;
  }
  const Tensor numbers =
      Tensor::FromVector<float>({4}, {-0.0F, 0, kInfinity, -kInfinity});
  EXPECT_EQ(Best("arg_max", numbers), (Indices{2}));
  EXPECT_EQ(Best("arg_min", numbers), (Indices{3}));
  const Tensor zeros = Tensor::FromVector<float>({2}, {-0.0F, 0});
  EXPECT_EQ(Best("arg_max", zeros), (Indices{0}));
  EXPECT_EQ(Best("arg_min", zeros), (Indices{0}));
}

TEST(ArgBest, TheLimitsOfIntegersAreNumbersLikeOthers) {
  using Limits = std::numeric_limits<int64_t>;
  const Tensor x =
      Tensor::FromVector<int64_t>({3}, {0, Limits::max(), Limits::min()});
  EXPECT_EQ(Best("arg_max", x), (Indices{1}));
  EXPECT_EQ(Best("arg_min", x), (Indices{2}));
  const Tensor bytes = Tensor::FromVector<uint8_t>({3}, {7, 255, 0});
  EXPECT_EQ(Best("arg_max", bytes), (Indices{1}));
  EXPECT_EQ(Best("arg_min", bytes), (Indices{2}));
}

TEST(ArgBest, InfersWhatIsKnown) {
  const auto infer = [](const DDim& x, const AttributeMap& attributes) {
    return InferOpShapes("arg_max", {{"X", x}}, attributes)["Out"];
  };
  EXPECT_EQ(infer({-1, -1, 3}, {{"axis", int64_t{1}}}), DDim({-1, 3}));
  EXPECT_EQ(infer({-1, 3}, {{"keepdims", true}}), DDim({1, 3}));
  EXPECT_EQ(infer({-1, 3}, {{"flatten", true}}), DDim());
  EXPECT_EQ(infer({-1, 3}, {{"flatten", true}, {"keepdims", true}}),
            DDim({1, 1}));
  EXPECT_EQ(infer(DDim::UnknownRank(), {{"flatten", true}}), DDim());
  EXPECT_FALSE(infer(DDim::UnknownRank(), {}).rank_known());
}

}  // namespace
}  // namespace sluice
