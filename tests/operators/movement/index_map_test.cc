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

void Refuses(const char* op,
             const DDim& x,
             const AttributeMap& attributes,
             const char* check,
             std::initializer_list<std::string_view> words) {
  ExpectError(ErrorCode::kInvalidArgument, check, words, [&] {
    InferOpShapes(op, {{"X", x}}, attributes);
  });
}

AttributeMap Slices(const Ints& starts,
                    const Ints& ends,
                    const Ints& axes,
                    const Ints& steps) {
  return {{"starts", starts}, {"ends", ends}, {"axes", axes}, {"steps", steps}};
}

TEST(Slice, RefusesListsThatDoNotFit) {
  Refuses("slice", {3, 4}, Slices({1, 1}, {2}, {}, {}), "slice.ends",
          {"ends has 1", "2"});
  Refuses("slice", {3, 4}, Slices({1}, {2}, {0, 1}, {}), "slice.entries",
          {"axes has 2", "1"});
  Refuses("slice", {3, 4}, Slices({1}, {2}, {}, {1, 1}), "slice.entries",
          {"steps has 2", "1"});
  Refuses("slice", {3, 4}, Slices({1}, {2}, {}, {0}), "slice.step",
          {"steps[0] = 0"});
  Refuses("slice", {3}, Slices({1, 1}, {2, 2}, {}, {}), "slice.rank",
          {"starts has 2", "[3]", "1 dims"});
  Refuses("slice", {3, 4}, Slices({1}, {2}, {2}, {}), "slice.axis",
          {"axes[0] = 2", "[3, 4]", "-2 to 1"});
  Refuses("slice", {3, 4}, Slices({1}, {2}, {-3}, {}), "slice.axis",
          {"axes[0] = -3"});
  Refuses("slice", {3, 4}, Slices({1, 1}, {2, 2}, {1, -1}, {}),
          "slice.axis_twice", {"axes[1] = -1", "[3, 4]"});
}

TEST(Pad, RefusesListsThatDoNotFit) {
  Refuses("pad", {3, 4}, {{"pads", Ints{1, 1}}}, "pad.entries",
          {"pads has 2", "4", "[3, 4]"});
  const Ints one = {0, 1};
  Refuses("pad", {3, 4}, {{"pads", one}, {"axes", Ints{0, 1}}}, "pad.entries",
          {"axes names"});
  Refuses("pad", {3, 4}, {{"pads", one}, {"axes", Ints{2}}}, "pad.axis",
          {"axes[0] = 2", "from -2 to 1"});
  Refuses("pad", {3, 4}, {{"pads", Ints{0, 0, 1, 1}}, {"axes", Ints{1, -1}}},
          "pad.axis_twice", {"axes[1] = -1"});
  Refuses("pad", {3}, {{"pads", Ints{-4, 9}}}, "pad.crop",
          {"4 elements", "dim 0", "[3]"});
  Refuses("pad", {3}, {{"pads", Ints{9, kIndexMapMin}}}, "pad.crop", {"[3]"});
  Refuses("pad", {3}, {{"pads", Ints{1, kIndexMapMax}}}, "pad.overflow",
          {"dim 0", "[3]"});
  Refuses("pad", {3}, {{"pads", Ints{-2, -2}}}, "pad.nothing",
          {"2 and 2", "dim 0", "[3]"});
  Refuses("pad", {0}, {{"pads", Ints{1, 0}}, {"mode", "edge"}}, "pad.empty",
          {"dim 0", "[0]", "edge"});
  Refuses("pad", {3}, {{"pads", Ints{-3, 1}}, {"mode", "wrap"}}, "pad.wrap",
          {"-3 and 1", "dim 0", "[3]"});
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

TEST(Expand, RefusesShapesThatDoNotFit) {
  Refuses("expand", {3}, {{"shape", Ints(9, 1)}}, "expand.rank",
          {"shape has 9", "8"});
  Refuses("expand", {3}, {{"shape", Ints{-1}}}, "expand.size",
          {"shape[0] = -1"});
  Refuses("expand", {3, 4}, {{"shape", Ints{2, 4}}}, "expand.shape",
          {"[3, 4]", "[2, 4]"});
}

TEST(Tile, RefusesListsThatDoNotFit) {
  Refuses("tile", {3}, {{"repeats", Ints{-1}}}, "tile.negative",
          {"repeats[0] = -1"});
  Refuses("tile", {3}, {{"repeats", Ints{1, 2}}}, "tile.entries",
          {"repeats has 2", "[3]"});
  Refuses("tile", {3}, {{"repeats", Ints{kIndexMapMax}}}, "tile.overflow",
          {"repeats[0]", "dim 0", "[3]"});
}

TEST(Roll, RefusesListsThatDoNotFit) {
  Refuses("roll", {3}, {{"shifts", Ints{1}}, {"axis", Ints{0, 0}}},
          "roll.entries", {"axis has 2", "expected 1"});
  Refuses("roll", {3}, {{"shifts", Ints{1}}, {"axis", Ints{1}}}, "roll.axis",
          {"axis[0] = 1", "[3]", "from -1 to 0"});
}

TEST(ExpandAs, RefusesShapesThatXDoesNotFill) {
  const auto refuse = [](const DDim& x, const DDim& y, const char* check_id,
                         std::initializer_list<std::string_view> words) {
    Tensor a, b;
    a.mutable_data<int32_t>(x, CPUPlace());
    b.mutable_data<float>(y, CPUPlace());
    ExpectError(ErrorCode::kInvalidArgument, check_id, words, [&] {
      RunOp("expand_as", {{"X", a}, {"Y", b}});
    });
  };
  refuse({3, 1}, {3}, "expand_as.rank", {"X [3, 1]", "Y [3]"});
  refuse({2, 3}, {2, 4}, "expand_as.size", {"dim 1", "is 4", "of 3"});
  refuse({0}, {2}, "expand_as.size", {"is 2", "of 0"});
}

}  // namespace
}  // namespace sluice
