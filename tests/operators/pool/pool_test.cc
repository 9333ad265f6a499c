#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

// Windows of every stride, padding and place, by loops that differ.
namespace sluice {
namespace {

using Ints = std::vector<int64_t>;

Tensor RandomTensor(const DDim& dims, std::mt19937* random) {
  std::vector<float> values(static_cast<size_t>(dims.numel()));
  for (float& value : values) {
    value = static_cast<float>((*random)() % 2000) / 8 - 125;
  }
  values[(*random)() % values.size()] = std::numeric_limits<float>::quiet_NaN();
  values[(*random)() % values.size()] = std::numeric_limits<float>::infinity();
  return Tensor::FromVector(dims, values);
}

void ExpectSame(const std::vector<float>& found,
                const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(found[i])) << i;
    } else {
      EXPECT_FLOAT_EQ(found[i], expected[i]) << i;
    }
  }
}

// With one channel, NCHW and NHWC have the same layout in memory.
TEST(Pool2d, OfChannelsFirstAndLastAreTheSame) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const auto number = [&random](int64_t least, int64_t count) {
      return least + static_cast<int64_t>(random()) % count;
    };
    const int64_t height = number(3, 6), width = number(3, 300);
    const Tensor x = RandomTensor({2, 1, height, width}, &random);
    AttributeMap attributes = {
        {"pooling_type", std::string(round % 2 == 0 ? "max" : "avg")},
        {"ksize", Ints{number(1, 3), number(2, 2)}},
        {"strides", Ints{number(1, 3), number(1, 4)}},
        {"paddings", Ints{0, number(0, 2)}},
        {"ceil_mode", random() % 2 == 0},
        {"exclusive", random() % 2 == 0}};
    Tensor first = RunOp("pool2d", {{"X", x}}, attributes)["Out"];
    Tensor last_x = x;
    last_x.Resize({2, height, width, 1});
    attributes["data_format"] = std::string("NHWC");
    const Tensor last = RunOp("pool2d", {{"X", last_x}}, attributes)["Out"];
    ExpectSame(first.ToVector<float>(), last.ToVector<float>());
  }
}

// Rows of windows are taken together if they are long: along one axis of these
// volumes they are, along the other not.
TEST(Pool3d, OfVolumesWithSwappedAxesAreTheSame) {
  std::mt19937 random(5);
  for (int round = 0; round < 100; ++round) {
    const auto number = [&random](int64_t most) {
      return 1 + static_cast<int64_t>(random()) % most;
    };
    const int64_t depth = 3, height = 2 + number(4), width = 12 + number(9);
    const Tensor x = RandomTensor({2, 3, depth, height, width}, &random);
    const Tensor swapped =
        RunOp("transpose", {{"X", x}}, {{"axis", Ints{0, 1, 4, 3, 2}}})["Out"];
    Ints ksize = {number(2), number(2), number(3)};
    Ints strides = {number(2), number(2), number(3)};
    Ints paddings = {0, ksize[1] / 2, ksize[2] / 2};
    AttributeMap attributes = {
        {"pooling_type", std::string(round % 2 == 0 ? "max" : "avg")},
        {"ceil_mode", random() % 2 == 0},
        {"exclusive", random() % 2 == 0}};
    const auto pool = [&](const Tensor& volume) {
      attributes["ksize"] = ksize;
      attributes["strides"] = strides;
      attributes["paddings"] = paddings;
      return RunOp("pool3d", {{"X", volume}}, attributes)["Out"];
    };
    const Tensor out = pool(x);
    for (Ints* sizes : {&ksize, &strides, &paddings}) {
      std::swap((*sizes)[0], (*sizes)[2]);
    }
    const Tensor back = RunOp("transpose", {{"X", pool(swapped)}},
                              {{"axis", Ints{0, 1, 4, 3, 2}}})["Out"];
    ExpectSame(out.ToVector<float>(), back.ToVector<float>());
  }
}

}  // namespace
}  // namespace sluice
