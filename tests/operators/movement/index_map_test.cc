#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

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

// Its kernel is prepared before memory refuses it: nothing may overflow there.
TEST(Expand, RefusesWhatNoMemoryHolds) {
  EXPECT_THROW(Apply("expand", Row({1}), {{"shape", Ints{kIndexMapMax}}}),
               Error);
}

TEST(Pad, LooksAtNoValueThatItsModeDoesNotUse) {
  const Tensor x = Tensor::FromVector<uint8_t>({1}, {1});
  RunOp("pad", {{"X", x}},
        {{"pads", Ints{1, 1}}, {"value", 1e300}, {"mode", "edge"}});
}

}  // namespace
}  // namespace sluice
