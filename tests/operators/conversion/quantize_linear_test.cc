#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"
#include "sluice/framework/values/tensor_values.h"
#include "sluice/platform/number_format.h"

namespace sluice {
namespace {

using testing::InferOpShapes;
using Doubles = std::vector<double>;
using QuantizeLinearFloats = std::vector<float>;

Doubles Quantize(const Tensor& x,
                 const Tensor& scale,
                 DType dtype,
                 AttributeMap attributes = {}) {
  attributes["dtype"] = dtype;
  return ToDoubles(
      RunOp("quantize_linear", {{"X", x}, {"Scale", scale}}, attributes)
          .at("Out"));
}

Tensor Row(const QuantizeLinearFloats& values) {
  return Tensor::FromVector<float>({static_cast<int64_t>(values.size())},
                                   values);
}
Tensor Number(float value) {
  return Tensor::FromVector<float>({}, {value});
}

TEST(QuantizeLinear, RoundsToEvenAndSaturates) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Tensor x = Row({1, 3, -1, -3, 1e9F, -kInfinity, kNaN});
  EXPECT_EQ(Quantize(x, Number(2), DType::kInt8),
            (Doubles{0, 2, 0, -2, 127, -128, 0}));
  EXPECT_EQ(Quantize(x, Number(2), DType::kUInt16),
            (Doubles{0, 2, 0, 0, 65535, 0, 0}));
  EXPECT_EQ(Quantize(x, Number(2), DType::kInt4),
            (Doubles{0, 2, 0, -2, 7, -8, 0}));
  EXPECT_EQ(Quantize(x, Number(2), DType::kUInt2),
            (Doubles{0, 2, 0, 0, 3, 0, 0}));
}

TEST(QuantizeLinear, TheZeroPointIsAddedAfterRounding) {
  const Tensor zero = Tensor::FromVector<uint8_t>({}, {3});
  const Tensor out = RunOp("quantize_linear", {{"X", Row({1, -1, -100, 600})},
                                               {"Scale", Number(2)},
                                               {"ZeroPoint", zero}})["Out"];
  EXPECT_EQ(out.ToVector<uint8_t>(), (std::vector<uint8_t>{3, 3, 0, 255}));
}

// 1.1 / 0.1 is 11.000001 in float32 and more than 11 in float64, too; as
// float16 it is 11.
TEST(QuantizeLinear, DividesInThePrecision) {
  const Tensor x = Row({0.35F}), scale = Number(0.1F);
  EXPECT_EQ(Quantize(x, scale, DType::kInt8), Doubles{4});  // 3.5
  EXPECT_EQ(Quantize(x, scale, DType::kInt8, {{"precision", DType::kFloat64}}),
            Doubles{std::rint(double{0.35F} / double{0.1F})});
  EXPECT_EQ(Quantize(Row({2.51F}), Number(1), DType::kInt8), Doubles{3});
  EXPECT_EQ(Quantize(Row({2.501F}), Number(1), DType::kInt8,
                     {{"precision", DType::kBFloat16}}),
            Doubles{2});  // 2.5
}

TEST(QuantizeLinear, FloatsKeepTheirZerosAndEnds) {
  const Tensor x = Row({-0.0F, 1000, 1.0625F});
  const Doubles out = Quantize(x, Number(1), DType::kFloat8E4M3FN);
  EXPECT_TRUE(std::signbit(out[0]));
  EXPECT_EQ(out[1], 448);
  EXPECT_EQ(out[2], 1);
  EXPECT_TRUE(std::isnan(
      Quantize(x, Number(1), DType::kFloat8E4M3FN, {{"saturate", false}})[1]));
}

TEST(QuantizeLinear, ScalesGoAlongAnAxisOrBlocks) {
  const Tensor x = Tensor::FromVector<float>({2, 3}, {8, 8, 8, 8, 8, 8});
  EXPECT_EQ(Quantize(x, Row({1, 2, 4}), DType::kInt8),
            (Doubles{8, 4, 2, 8, 4, 2}));
  EXPECT_EQ(Quantize(x, Row({1, 2}), DType::kInt8, {{"axis", int64_t{-2}}}),
            (Doubles{8, 8, 8, 4, 4, 4}));
  const Tensor blocks = Tensor::FromVector<float>({2, 2}, {1, 2, 4, 8});
  EXPECT_EQ(Quantize(x, blocks, DType::kInt8, {{"block_size", int64_t{2}}}),
            (Doubles{8, 8, 4, 2, 2, 1}));
  const Tensor columns = Tensor::FromVector<float>({1, 3}, {1, 2, 4});
  EXPECT_EQ(Quantize(x, columns, DType::kInt8,
                     {{"block_size", int64_t{2}}, {"axis", int64_t{0}}}),
            (Doubles{8, 4, 2, 8, 4, 2}));
}

TEST(DequantizeLinear, MultipliesWhatIsLeftOfTheZeroPoint) {
  const Tensor x = Tensor::FromVector<int16_t>({3}, {-32768, 1, 32767});
  const Tensor zero = Tensor::FromVector<int16_t>({}, {-1});
  const Tensor out =
      RunOp("dequantize_linear",
            {{"X", x}, {"Scale", Number(0.5F)}, {"ZeroPoint", zero}})["Out"];
  EXPECT_EQ(out.ToVector<float>(), (QuantizeLinearFloats{-16383.5F, 1, 16384}));
}

TEST(DequantizeLinear, IsTheInverseForEveryCode) {
  for (const DType dtype : {DType::kInt4, DType::kUInt2, DType::kFloat4E2M1FN,
                            DType::kFloat8E5M2FNUZ}) {
    const auto numbers = StoredValues(dtype);
    const int codes = 1 << FormatOf(dtype).bits;
    QuantizeLinearFloats values;
    for (int code = 0; code < codes; ++code) {
      const float number = numbers[static_cast<size_t>(code)];
      if (std::isfinite(number)) values.push_back(number * 0.25F);
    }
    const Tensor x = Row(values);
    const Tensor coded =
        RunOp("quantize_linear", {{"X", x}, {"Scale", Number(0.25F)}},
              {{"dtype", dtype}})["Out"];
    const Tensor back = RunOp("dequantize_linear",
                              {{"X", coded}, {"Scale", Number(0.25F)}})["Out"];
    EXPECT_EQ(back.ToVector<float>(), values) << ToString(dtype);
  }
}

// Lanes have the numbers of the formula for every dtype that they take, in full
// and partial vectors; ties and zero points at both ends of the range included.
TEST(QuantizeLinear, LanesComputeTheFormula) {
  constexpr int kCount = 261;
  for (const DType dtype :
       {DType::kInt8, DType::kUInt8, DType::kInt16, DType::kUInt16}) {
    const NumberFormat& format = FormatOf(dtype);
    const double least = format.is_signed ? -std::exp2(format.bits - 1) : 0;
    const double largest = least + std::exp2(format.bits) - 1;
    for (const bool single : {true, false}) {
      const int scales = single ? 1 : kCount;
      QuantizeLinearFloats x(2 * kCount), scale(scales);
      testing::Array zeros({scales});
      for (int i = 0; i < 2 * kCount; ++i) {
        x[i] = static_cast<float>((i - kCount) * 0.5 * (i % 7 == 0 ? 300 : 1));
      }
      for (int i = 0; i < scales; ++i) {
        scale[i] = i % 3 == 0 ? 1.0F : 0.3F + 0.01F * static_cast<float>(i);
        zeros.values[i] = i % 4 == 0 ? largest : i % 4 == 1 ? least : i % 100;
      }
      const Tensor zero = testing::ToTensor(zeros, dtype);
      const Tensor coded =
          RunOp("quantize_linear",
                {{"X", Tensor::FromVector<float>({2, kCount}, x)},
                 {"Scale", Row(scale)},
                 {"ZeroPoint", zero}},
                {{"dtype", dtype}})["Out"];
      const Tensor back = RunOp(
          "dequantize_linear",
          {{"X", coded}, {"Scale", Row(scale)}, {"ZeroPoint", zero}})["Out"];
      const Doubles codes = ToDoubles(coded);
      for (int i = 0; i < 2 * kCount; ++i) {
        const int at = i % scales;
        const double code =
            std::clamp(std::rint(double{x[i] / scale[at]}) + zeros.values[at],
                       least, largest);
        ASSERT_EQ(codes[i], code) << ToString(dtype) << " of " << x[i];
        ASSERT_EQ(
            back.data<float>()[i],
            static_cast<float>((code - zeros.values[at]) * double{scale[at]}));
      }
    }
  }
}

TEST(QuantizeLinear, AVectorOfUnknownSizeMayBeOneNumber) {
  EXPECT_EQ(InferOpShapes("dequantize_linear",
                          {{"X", {4}}, {"Scale", {}}, {"ZeroPoint", {-1}}})
                .at("Out"),
            DDim{4});
  EXPECT_EQ(
      InferOpShapes("quantize_linear", {{"X", {4}}, {"Scale", {-1}}}).at("Out"),
      DDim{4});
  EXPECT_EQ(InferOpShapes("quantize_linear", {{"X", {-1, 5}}, {"Scale", {5}}})
                .at("Out"),
            DDim({-1, 5}));
}

}  // namespace
}  // namespace sluice
