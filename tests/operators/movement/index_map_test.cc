#include <limits>
#include <map>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::ExpectError;
using ::sluice::testing::InferOpShapes;
using Ints = std::vector<int64_t>;
using IndexMapNumbers = std::vector<int32_t>;

constexpr int64_t kIndexMapMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kIndexMapMax = std::numeric_limits<int64_t>::max();

Tensor Row(const IndexMapNumbers& values) {
  return Tensor::FromVector<int32_t>({static_cast<int64_t>(values.size())},
                                     values);
}

IndexMapNumbers Apply(const char* op,
                      const Tensor& x,
                      const AttributeMap& attributes) {
  return RunOp(op, {{"X", x}}, attributes)["Out"].ToVector<int32_t>();
}

IndexMapNumbers Slice(int64_t start, int64_t end, int64_t step) {
  return Apply(
      "slice", Row({0, 1, 2, 3, 4}),
      {{"starts", Ints{start}}, {"ends", Ints{end}}, {"steps", Ints{step}}});
}

TEST(Slice, GoesForwardAndBackAndIsCutAtTheEnds) {
  EXPECT_EQ(Slice(1, 4, 1), (IndexMapNumbers{1, 2, 3}));
  EXPECT_EQ(Slice(-4, -1, 2), (IndexMapNumbers{1, 3}));
  EXPECT_EQ(Slice(-99, 99, 3), (IndexMapNumbers{0, 3}));
  EXPECT_EQ(Slice(4, 1, -1), (IndexMapNumbers{4, 3, 2}));
  EXPECT_EQ(Slice(99, -99, -2), (IndexMapNumbers{4, 2, 0}));
  EXPECT_EQ(Slice(kIndexMapMax, kIndexMapMin, -1),
            (IndexMapNumbers{4, 3, 2, 1, 0}));
  EXPECT_EQ(Slice(kIndexMapMin, kIndexMapMax, kIndexMapMax),
            (IndexMapNumbers{0}));
  EXPECT_EQ(Slice(-1, kIndexMapMin, kIndexMapMin), (IndexMapNumbers{4}));
  EXPECT_EQ(Slice(3, 3, 1), IndexMapNumbers());
  EXPECT_EQ(Slice(1, 4, -1), IndexMapNumbers());
}

TEST(IndexMap, UnknownSizesStayUnknown) {
  EXPECT_EQ(InferOpShapes("slice", {{"X", {-1, 5}}},
                          {{"starts", Ints{1, 1}}, {"ends", Ints{9, 9}}})
                .at("Out"),
            DDim({-1, 4}));
  EXPECT_EQ(InferOpShapes("pad", {{"X", {-1, 5}}}, {{"pads", Ints{1, 1, 1, 1}}})
                .at("Out"),
            DDim({-1, 7}));
  EXPECT_EQ(InferOpShapes("tile", {{"X", {-1, 5}}}, {{"repeats", Ints{2, 2}}})
                .at("Out"),
            DDim({-1, 10}));
  for (const auto& [op, attributes] : std::map<const char*, AttributeMap>{
           {"slice", {{"starts", Ints{1}}, {"ends", Ints{9}}}},
           {"pad", {{"pads", Ints{1, 1}}}},
           {"expand", {{"shape", Ints{1}}}},
           {"tile", {{"repeats", Ints{2}}}}}) {
    EXPECT_FALSE(InferOpShapes(op, {{"X", DDim::UnknownRank()}}, attributes)
                     .at("Out")
                     .rank_known());
  }
}

TEST(Pad, RefusesAValueThatXCannotHold) {
  const Tensor x = Tensor::FromVector<uint8_t>({1}, {1});
  for (const double value : {-1.0, 256.0, 0.5}) {
    ExpectError(
        ErrorCode::kInvalidArgument, "pad.value", {"pad", "value", "uint8"},
        [&] {
          RunOp("pad", {{"X", x}}, {{"pads", Ints{1, 1}}, {"value", value}});
        });
  }
  RunOp("pad", {{"X", x}},
        {{"pads", Ints{1, 1}}, {"value", 1e300}, {"mode", "edge"}});
}

}  // namespace
}  // namespace sluice
