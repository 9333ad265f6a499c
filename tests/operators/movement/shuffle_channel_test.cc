#include <algorithm>
#include <string>
#include <vector>

#include "tests/operators/onednn/pass_fixture.h"

namespace sluice {
namespace {

using Ints = std::vector<int64_t>;
using Names = std::vector<std::string>;

class ShuffleChannelTest : public testing::PassTest {
 protected:
  void SetUp() override {}

  std::string Reshape(const std::string& x, const Ints& shape) {
    return Append("reshape", {{"X", {x}}}, "Out", {{"shape", shape}});
  }
  std::string Transpose(const std::string& x, const Ints& axes) {
    return Append("transpose", {{"X", {x}}}, "Out", {{"axis", axes}});
  }
  std::string Relu(const std::string& x) {
    return Append("relu", {{"X", {x}}}, "Out");
  }
  std::string Conv(const std::string& x, const std::string& filter) {
    return Append("conv2d", {{"Input", {x}}, {"Filter", {filter}}}, "Output",
                  {});
  }
  // Shuffles images [2, 6, 3, 5].
  std::string Shuffle(const std::string& x, int64_t group) {
    const int64_t k = 6 / group;
    return Reshape(Transpose(Reshape(x, {2, group, k, 3, 5}), {0, 2, 1, 3, 4}),
                   {2, 6, 3, 5});
  }
};

TEST_F(ShuffleChannelTest, IsTheThreeOps) {
  Data("x", Ramp({2, 6, 3, 5}));
  for (const int64_t group : {1, 2, 3, 6}) {
    const std::string out = Relu(Shuffle(Relu("x"), group));
    EXPECT_EQ(Types({out}), (Names{"relu", "shuffle_channel", "relu"}));
    ExpectSame({out});
  }
}

TEST_F(ShuffleChannelTest, RunsWithTheChannelsLast) {
  Data("x", Ramp({2, 6, 3, 5}));
  Parameter("w1", Ramp({6, 6, 1, 1}));
  Parameter("w2", Ramp({6, 6, 1, 1}));
  const KernelHintGuard last("conv2d: prefer layout=NHWC");
  for (const int64_t group : {2, 3}) {
    const std::string out = Conv(Shuffle(Conv("x", "w1"), group), "w2");
    EXPECT_EQ(Types({out}), (Names{"transpose", "conv2d", "shuffle_channel",
                                   "conv2d", "transpose"}));
    ExpectSame({out});
  }
}

// More channels than a vector has elements, with a remainder.
TEST_F(ShuffleChannelTest, WideGroups) {
  for (const int64_t group : {2, 3, 4, 5, 8}) {
    const int64_t k = 37, channels = group * k;
    const std::string n = std::to_string(group);
    Data("x" + n, Ramp({1, channels, 4, 5}));
    Parameter("a" + n, Ramp({channels, channels, 1, 1}));
    const KernelHintGuard last("conv2d: prefer layout=NHWC");
    const std::string mixed = Reshape(
        Transpose(Reshape("x" + n, {1, group, k, 4, 5}), {0, 2, 1, 3, 4}),
        {1, channels, 4, 5});
    // The convolution sums a few channels only, so that nothing is rounded.
    Tensor& filter = *scope_.Var("a" + n).GetMutable<Tensor>();
    for (int64_t i = 0; i < filter.numel(); ++i) {
      filter.data<float>()[i] = i % (channels + 3) == 0 ? 1.0F : 0.0F;
    }
    const std::string out = Conv(Relu(mixed), "a" + n);
    const Names types = Types({out});
    EXPECT_EQ(std::count(types.begin(), types.end(), "shuffle_channel"), 1);
    EXPECT_EQ(types.back(), "transpose");
    ExpectSame({out});
  }
}

TEST_F(ShuffleChannelTest, OtherOpsStayAsTheyAre) {
  Data("x", Ramp({2, 6, 3, 5}));
  const auto stays = [&](const std::string& out) {
    const Names types = Types({out});
    ExpectSame({out});
    return std::count(types.begin(), types.end(), "shuffle_channel") == 0;
  };
  EXPECT_TRUE(stays(
      Relu(Reshape(Transpose(Reshape("x", {2, 2, 3, 3, 5}), {0, 2, 1, 4, 3}),
                   {2, 6, 3, 5}))));
  EXPECT_TRUE(stays(
      Relu(Reshape(Transpose(Reshape("x", {2, 2, 3, 3, 5}), {0, 2, 1, 3, 4}),
                   {2, 3, 6, 5}))));
  EXPECT_TRUE(stays(
      Relu(Reshape(Transpose(Reshape("x", {1, 2, 6, 3, 5}), {0, 2, 1, 3, 4}),
                   {2, 6, 3, 5}))));
  // Another op reads the intermediate value.
  const std::string split = Reshape("x", {2, 2, 3, 3, 5});
  const std::string joined =
      Reshape(Transpose(split, {0, 2, 1, 3, 4}), {2, 6, 3, 5});
  const Names types = Types({joined, split});
  EXPECT_EQ(std::count(types.begin(), types.end(), "shuffle_channel"), 0);
  ExpectSame({joined, split});
}

}  // namespace
}  // namespace sluice
