#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/op/registry.h"
#include "sluice/framework/run/run_op.h"
#include "sluice/operators/math/binary/binary_row.h"

// Comparisons, logic and bits; and properties of all rows.
namespace sluice {
namespace {

constexpr float kLogicInfinity = std::numeric_limits<float>::infinity();
const float kLogicNan = std::numeric_limits<float>::quiet_NaN();

template <typename R, typename T>
std::vector<R> LogicApply(const std::string& op,
                          const std::vector<T>& x,
                          const std::vector<T>& y) {
  const DDim dims({static_cast<int64_t>(x.size())});
  const Tensor out = RunOp(op, {{"X", Tensor::FromVector(dims, x)},
                                {"Y", Tensor::FromVector(dims, y)}})["Out"];
  EXPECT_EQ(out.dtype(), kDTypeOf<R>);
  return out.ToVector<R>();
}

using Bools = std::vector<bool>;

TEST(Comparison, ValuesWrittenDownByHand) {
  const std::vector<float> x = {1, 2, 3, -kLogicInfinity, kLogicNan, kLogicNan};
  const std::vector<float> y = {2, 2, 2, kLogicInfinity, 1, kLogicNan};
  const auto compare = [&](const char* op) {
    return LogicApply<bool>(op, x, y);
  };
  EXPECT_EQ(compare("less_than"), (Bools{1, 0, 0, 1, 0, 0}));
  EXPECT_EQ(compare("less_equal"), (Bools{1, 1, 0, 1, 0, 0}));
  EXPECT_EQ(compare("greater_than"), (Bools{0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(compare("greater_equal"), (Bools{0, 1, 1, 0, 0, 0}));
  EXPECT_EQ(compare("equal"), (Bools{0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(compare("not_equal"), (Bools{1, 0, 1, 1, 1, 1}));
}

template <typename T>
void ExpectEndsAreInOrder() {
  constexpr T kLeast = std::numeric_limits<T>::min();
  constexpr T kMost = std::numeric_limits<T>::max();
  const std::vector<T> x = {kLeast, kMost, kMost}, y = {kMost, kLeast, kMost};
  EXPECT_EQ((LogicApply<bool>("less_than", x, y)), (Bools{1, 0, 0}));
  EXPECT_EQ((LogicApply<bool>("greater_equal", x, y)), (Bools{0, 1, 1}));
  EXPECT_EQ((LogicApply<bool>("equal", x, y)), (Bools{0, 0, 1}));
}

TEST(Comparison, TheLargestAndTheLeastIntegers) {
  ExpectEndsAreInOrder<int8_t>();
  ExpectEndsAreInOrder<uint8_t>();
  ExpectEndsAreInOrder<int32_t>();
  ExpectEndsAreInOrder<int64_t>();
  ExpectEndsAreInOrder<int16_t>();
  ExpectEndsAreInOrder<uint16_t>();
  ExpectEndsAreInOrder<uint32_t>();
  ExpectEndsAreInOrder<uint64_t>();
}

TEST(Comparison, OfBoolsFalseIsLessThanTrue) {
  const Bools x = {0, 0, 1, 1}, y = {0, 1, 0, 1};
  const auto compare = [&](const char* op) {
    return LogicApply<bool>(op, x, y);
  };
  EXPECT_EQ(compare("less_than"), (Bools{0, 1, 0, 0}));
  EXPECT_EQ(compare("less_equal"), (Bools{1, 1, 0, 1}));
  EXPECT_EQ(compare("greater_than"), (Bools{0, 0, 1, 0}));
  EXPECT_EQ(compare("greater_equal"), (Bools{1, 0, 1, 1}));
  EXPECT_EQ(compare("equal"), (Bools{1, 0, 0, 1}));
  EXPECT_EQ(compare("not_equal"), (Bools{0, 1, 1, 0}));
}

TEST(Comparison, HalvesCompareAsNumbers) {
  using Halves = std::vector<float16>;
  const Halves x = {{0x8000}, {0xBC00}, {0x7E00}};  // -0, -1, NaN
  const Halves y = {{0x0000}, {0x3C00}, {0x7E00}};  // 0, 1, NaN
  EXPECT_EQ((LogicApply<bool>("equal", x, y)), (Bools{1, 0, 0}));
  EXPECT_EQ((LogicApply<bool>("less_than", x, y)), (Bools{0, 1, 0}));
}

TEST(Logic, ValuesWrittenDownByHand) {
  const Bools x = {0, 0, 1, 1}, y = {0, 1, 0, 1};
  EXPECT_EQ((LogicApply<bool>("logical_and", x, y)), (Bools{0, 0, 0, 1}));
  EXPECT_EQ((LogicApply<bool>("logical_or", x, y)), (Bools{0, 1, 1, 1}));
  EXPECT_EQ((LogicApply<bool>("logical_xor", x, y)), (Bools{0, 1, 1, 0}));
  EXPECT_EQ((LogicApply<bool>("elementwise_mul", x, y)), (Bools{0, 0, 0, 1}));
  EXPECT_EQ((LogicApply<bool>("elementwise_min", x, y)), (Bools{0, 0, 0, 1}));
  EXPECT_EQ((LogicApply<bool>("elementwise_add", x, y)), (Bools{0, 1, 1, 1}));
  EXPECT_EQ((LogicApply<bool>("elementwise_max", x, y)), (Bools{0, 1, 1, 1}));
}

TEST(Bits, ShiftsByAnyCountAreDefined) {
  using Ints = std::vector<int32_t>;
  const Ints x = {1, 1, 3, -3, 1, -1, 5};
  const Ints y = {4, 31, 31, 1, 32, 64, -1};
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
  EXPECT_EQ(LogicApply<int32_t>("bitwise_left_shift", x, y),
            (Ints{16, kLeast, kLeast, -6, 0, 0, 0}));
  EXPECT_EQ(LogicApply<int32_t>("bitwise_right_shift", x, y),
            (Ints{0, 0, 0, -2, 0, -1, 0}));
  using Bytes = std::vector<uint8_t>;
  EXPECT_EQ(LogicApply<uint8_t>("bitwise_left_shift", Bytes{255, 255, 255},
                                Bytes{1, 8, 255}),
            (Bytes{254, 0, 0}));
  EXPECT_EQ(LogicApply<uint8_t>("bitwise_right_shift", Bytes{255, 255, 255},
                                Bytes{1, 8, 255}),
            (Bytes{127, 0, 0}));
  using Longs = std::vector<uint64_t>;
  EXPECT_EQ(
      LogicApply<uint64_t>("bitwise_right_shift",
                           Longs{UINT64_MAX, UINT64_MAX, 1}, Longs{63, 64, 1}),
      (Longs{1, 0, 0}));
  using Shorts = std::vector<int16_t>;
  EXPECT_EQ(LogicApply<int16_t>("bitwise_left_shift", Shorts{3, 3, 3, 3},
                                Shorts{14, 15, 16, -1}),
            (Shorts{-16384, -32768, 0, 0}));
  EXPECT_EQ(
      LogicApply<int16_t>("bitwise_right_shift", Shorts{-3, -3}, Shorts{1, 16}),
      (Shorts{-2, -1}));
}

// A new row is sufficient for a complete op.
TEST(Binary, EveryRowIsAnOpThatSaysWhatItIsElsewhere) {
  std::set<std::string> names;
  for (const BinaryRow& row : BinaryRows()) {
    SCOPED_TRACE(row.info.name);
    EXPECT_TRUE(names.insert(row.info.name).second);
    const OpSchema& schema = Registry::Global().Schema(row.info.name);
    EXPECT_TRUE(schema.doc().starts_with(row.info.doc));
    EXPECT_EQ(schema.onnx().op_type, row.info.onnx);
    EXPECT_EQ(schema.torch(), row.info.torch);
    EXPECT_TRUE(schema.elementwise());
    EXPECT_EQ(schema.gradient_fn() != nullptr, row.info.differentiable());
    EXPECT_EQ(FindBinaryRow(row.info.name), &row);
  }
  EXPECT_EQ(FindBinaryRow("conv2d"), nullptr);
}

// An input that a gradient does not read need not be kept until then.
TEST(Binary, GradientsReadNoMoreThanTheyNeed) {
  const auto shape_only = [](const char* op, const char* input) {
    return Registry::Global().Schema(op).FindInput(input)->traits.shape_only;
  };
  for (const char* op : {"elementwise_add_grad", "elementwise_sub_grad"}) {
    EXPECT_TRUE(shape_only(op, "X")) << op;
    EXPECT_TRUE(shape_only(op, "Y")) << op;
  }
  EXPECT_FALSE(shape_only("elementwise_mul_grad", "X"));
  EXPECT_FALSE(shape_only("elementwise_mul_grad", "Y"));
  EXPECT_TRUE(shape_only("elementwise_div_grad", "X"));
  EXPECT_FALSE(shape_only("elementwise_div_grad", "Y"));
  const auto& registry = Registry::Global();
  EXPECT_NE(registry.Schema("elementwise_div_grad").FindInput("Out"), nullptr);
  EXPECT_EQ(registry.Schema("elementwise_mul_grad").FindInput("Out"), nullptr);
  const auto& add = registry.Schema("elementwise_add_grad");
  EXPECT_EQ(add.FindOutput("X@GRAD")->aliases, "Out@GRAD");
  EXPECT_EQ(add.FindOutput("Y@GRAD")->aliases, "Out@GRAD");
  const auto& sub = registry.Schema("elementwise_sub_grad");
  EXPECT_EQ(sub.FindOutput("X@GRAD")->aliases, "Out@GRAD");
  EXPECT_EQ(sub.FindOutput("Y@GRAD")->aliases, "");
}

}  // namespace
}  // namespace sluice
