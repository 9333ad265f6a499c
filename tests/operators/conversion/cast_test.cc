#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/operators/harness/op_case.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::RunOp;
using framework::Tensor;
using platform::DType;
using platform::ErrorCode;
using ::sluice::testing::ExpectError;

Tensor Cast(const Tensor& x, DType dtype) {
  return RunOp("cast", {{"X", x}}, {{"dtype", dtype}})["Out"];
}

TEST(CastTest, TakesTheDTypeOfTheAttribute) {
  const Tensor x = Tensor::FromVector<float>({2, 2}, {1.5F, -2.5F, 300, 0});
  const Tensor out = Cast(x, DType::kInt8);
  EXPECT_EQ(out.dtype(), DType::kInt8);
  EXPECT_EQ(out.dims(), DDim({2, 2}));
  EXPECT_EQ(out.ToVector<int8_t>(), std::vector<int8_t>({1, -2, 127, 0}));
}

TEST(CastTest, KeepsSmallIntegersThroughEveryDType) {
  const Tensor x = Tensor::FromVector<int32_t>({3}, {0, 1, 1});
  for (DType first : platform::kAllDTypes) {
    for (DType second : platform::kAllDTypes) {
      EXPECT_EQ(
          Cast(Cast(Cast(x, first), second), DType::kInt32).ToVector<int32_t>(),
          x.ToVector<int32_t>());
    }
  }
}

TEST(CastTest, AnEmptyTensorStaysEmpty) {
  const Tensor x = Tensor::FromVector<float>({3, 0}, {});
  EXPECT_EQ(Cast(x, DType::kBool).dims(), DDim({3, 0}));
}

TEST(CastTest, RefusesANameThatIsNoDType) {
  ExpectError(ErrorCode::kInvalidArgument, "op.attribute_type",
              {"cast", "dtype"}, [] {
                RunOp("cast", {{"X", Tensor::FromVector<float>({1}, {1})}},
                      {{"dtype", int64_t{3}}});
              });
}

TEST(CastGradTest, HasTheDTypeOfX) {
  const Tensor x = Tensor::FromVector<double>({2}, {1, 2});
  const Tensor grad = Tensor::FromVector<float>({2}, {0.5F, -3});
  EXPECT_EQ(RunOp("cast_grad", {{"X", x}, {"Out@GRAD", grad}})["X@GRAD"]
                .ToVector<double>(),
            (std::vector<double>{0.5, -3}));
}

TEST(CastGradTest, RefusesIntegersAndOtherShapes) {
  const Tensor x = Tensor::FromVector<double>({2}, {1, 2});
  const Tensor whole = Tensor::FromVector<int32_t>({2}, {1, 2});
  const Tensor scalar = Tensor::FromVector<float>({}, {1});
  ExpectError(ErrorCode::kInvalidArgument, "op.dtype", {"cast_grad", "int32"},
              [&] {
                RunOp("cast_grad", {{"X", whole}, {"Out@GRAD", x}});
              });
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.merge_rank",
              {"cast_grad", "Out@GRAD"}, [&] {
                RunOp("cast_grad", {{"X", x}, {"Out@GRAD", scalar}});
              });
}

}  // namespace
}  // namespace sluice::operators

// What the harness tests every kernel of the op with.
namespace sluice::testing {
namespace {

using framework::OpDesc;
using platform::DType;

std::vector<OpExample> CastExamples(ExampleMaker& make) {
  // Past the ends of int8 and uint8, where the dtype itself gets so far.
  const bool wide = platform::SizeOf(make.dtype()) > 1;
  std::vector<OpExample> examples;
  for (DType to : platform::kAllDTypes) {
    examples.push_back({{{"X", make.Values({3, 7})}}, {{"dtype", to}}});
    if (wide) {
      examples.push_back(
          {{{"X", make.Integers(make.dtype(), {65}, -1000, 1000)}},
           {{"dtype", to}}});
    }
    examples.push_back({{{"X", make.Values({1, 0, 2})}}, {{"dtype", to}}});
    examples.push_back({{{"X", make.Values({})}}, {{"dtype", to}}});
    if (platform::SizeOf(to) == 4) {
      examples.push_back({{{"X", make.Values({37, 911})}}, {{"dtype", to}}});
    }
  }
  return examples;
}

// What is left of a number that lies in [low, low + count).
double WrapAround(double value, double low, double count) {
  return value - count * std::floor((value - low) / count);
}

double CastTo(DType to, double value, bool from_floating) {
  if (platform::IsFloating(to)) return value;
  if (to == DType::kBool) return value != 0;
  const int bits = static_cast<int>(8 * platform::SizeOf(to));
  const double count = std::ldexp(1.0, bits);
  const double low = to == DType::kUInt8 ? 0 : -count / 2;
  if (!from_floating) return WrapAround(value, low, count);
  return std::min(std::max(std::trunc(value), low), low + count - 1);
}

Arrays CastReference(const Arrays& in, const OpDesc& op) {
  Array out = in.at("X");
  const auto to = GetAttr<DType>(op, "dtype");
  for (double& value : out.values) {
    value = CastTo(to, value, platform::IsFloating(out.dtype));
  }
  return {{"Out", out}};
}

std::vector<OpExample> CastGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (DType from :
       {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16}) {
    for (const framework::DDim& dims :
         {framework::DDim{3, 7}, {1, 0, 2}, {}, {37, 911}}) {
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
