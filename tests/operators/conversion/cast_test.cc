#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"
#include "sluice/platform/number_format.h"

namespace sluice {
namespace {

Tensor Cast(const Tensor& x, DType dtype) {
  return RunOp("cast", {{"X", x}}, {{"dtype", dtype}})["Out"];
}

TEST(CastTest, PastTheRangeOfSmallFloatsFollowsTheAttributes) {
  const Tensor x = Tensor::FromVector<float>({2}, {1e6F, 1.5F});
  const auto cast = [&](DType dtype, AttributeMap attributes) {
    attributes["dtype"] = dtype;
    const Tensor out = RunOp("cast", {{"X", x}}, attributes)["Out"];
    return Cast(out, DType::kFloat32).ToVector<float>();
  };
  EXPECT_EQ(cast(DType::kFloat8E5M2, {}), (std::vector<float>{57344, 1.5F}));
  EXPECT_EQ(cast(DType::kFloat8E5M2, {{"saturate", false}}),
            (std::vector<float>{std::numeric_limits<float>::infinity(), 1.5F}));
  const auto power = [&](const char* mode) {
    return cast(DType::kFloat8E8M0FNU, {{"round_mode", std::string(mode)}})[1];
  };
  EXPECT_EQ(power("up"), 2);
  EXPECT_EQ(power("down"), 1);
  EXPECT_EQ(power("nearest"), 2);
}

TEST(CastTest, LargeUnsignedNumbersAreRoundedOnce) {
  constexpr uint64_t kTie = (uint64_t{257} << 55);
  const Tensor x =
      Tensor::FromVector<uint64_t>({3}, {kTie, kTie + 1, UINT64_MAX});
  EXPECT_EQ(Cast(Cast(x, DType::kBFloat16), DType::kFloat64).ToVector<double>(),
            (std::vector<double>{0x1p63, 0x1.02p63, 0x1p64}));
  EXPECT_EQ(Cast(x, DType::kInt16).ToVector<int16_t>(),
            (std::vector<int16_t>{0, 1, -1}));
  const Tensor floats = Tensor::FromVector<double>({3}, {1e30, -1, 0x1p63});
  EXPECT_EQ(Cast(floats, DType::kUInt64).ToVector<uint64_t>(),
            (std::vector<uint64_t>{UINT64_MAX, 0, uint64_t{1} << 63}));
}

}  // namespace
}  // namespace sluice

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

std::vector<OpExample> CastExamples(ExampleMaker& make) {
  // Includes numbers beyond int8 and uint8, if the dtype has them.
  const bool wide = SizeOf(make.dtype()) > 1;
  std::vector<OpExample> examples;
  const int64_t low = FormatOf(make.dtype()).is_signed ? -1000 : 0;
  for (DType to : kAllDTypes) {
    examples.push_back({{{"X", make.Values({3, 7})}}, {{"dtype", to}}});
    if (wide) {
      examples.push_back({{{"X", make.Integers(make.dtype(), {65}, low, 1000)}},
                          {{"dtype", to}}});
    }
    examples.push_back({{{"X", make.Values({1, 0, 2})}}, {{"dtype", to}}});
    examples.push_back({{{"X", make.Values({})}}, {{"dtype", to}}});
    if (to == DType::kFloat32 || to == DType::kInt32 || to == DType::kUInt4) {
      examples.push_back({{{"X", make.Values({37, 911})}}, {{"dtype", to}}});
    }
  }
  return examples;
}

// Wraps a number into [low, low + count).
double WrapAround(double value, double low, double count) {
  return value - count * std::floor((value - low) / count);
}

double CastTo(DType to, double value, bool from_floating) {
  const NumberFormat& format = FormatOf(to);
  if (IsFloating(to)) return value;
  if (to == DType::kBool) return value != 0;
  if (format.is_float()) {
    return StoredValues(to)[Encode(format, value)];
  }
  const double count = std::ldexp(1.0, format.bits);
  const double low = format.is_signed ? -count / 2 : 0;
  if (!from_floating) return WrapAround(value, low, count);
  if (IsStoredNumber(to)) {
    return WrapAround(std::trunc(value), low, count);
  }
  return std::min(std::max(std::trunc(value), low), low + count - 1);
}

Arrays CastReference(const Arrays& in, const OpDesc& op) {
  Array out = in.at("X");
  const auto to = GetAttr<DType>(op, "dtype");
  for (double& value : out.values) {
    value = CastTo(to, value, FormatOf(out.dtype).is_float());
  }
  return {{"Out", out}};
}

std::vector<OpExample> CastGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (DType from :
       {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16}) {
    for (const DDim& dims : {DDim{3, 7}, {1, 0, 2}, {}, {37, 911}}) {
      examples.push_back({{{"X", make.Values(dims)},
                           {"Out@GRAD", make.Integers(from, dims, -100, 100)}},
                          {}});
    }
  }
  return examples;
}

Arrays CastGradReference(const Arrays& in, const OpDesc& /*op*/) {
  return {{"X@GRAD", in.at("Out@GRAD")}};
}

REGISTER_OP_CASE(cast, CastExamples, CastReference);
REGISTER_OP_CASE(cast_grad, CastGradExamples, CastGradReference);

}  // namespace
}  // namespace sluice::testing
