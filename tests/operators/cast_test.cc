#include <vector>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run_op.h"

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

}  // namespace
}  // namespace sluice::operators
