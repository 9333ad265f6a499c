#include <vector>

#include "tests/operators/infer_op_shapes.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run_op.h"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::RunOp;
using framework::Tensor;
using platform::ErrorCode;
using ::sluice::testing::ExpectError;
using ::sluice::testing::InferOpShapes;

void Infer(const DDim& indices, const DDim& label) {
  InferOpShapes("accuracy", {{"Indices", indices}, {"Label", label}});
}

TEST(AccuracyTest, CountsRowsWithTheLabelAmongThePredicted) {
  auto out =
      RunOp("accuracy",
            {{"Indices",
              Tensor::FromVector<int64_t>({4, 2}, {1, 2, 3, 3, 9, 0, 5, 6})},
             {"Label", Tensor::FromVector<int64_t>({4, 1}, {2, 3, 1, 6})}});
  EXPECT_EQ(out["Accuracy"].ToVector<float>(), std::vector<float>({0.75F}));
  EXPECT_EQ(out["Correct"].ToVector<int32_t>(), std::vector<int32_t>({3}));
  EXPECT_EQ(out["Total"].ToVector<int32_t>(), std::vector<int32_t>({4}));
}

TEST(AccuracyTest, TakesInt32LabelsInOneDim) {
  auto out = RunOp("accuracy",
                   {{"Indices", Tensor::FromVector<int32_t>({3, 1}, {1, 2, 3})},
                    {"Label", Tensor::FromVector<int32_t>({3}, {1, 0, 0})}});
  EXPECT_EQ(out["Accuracy"].ToVector<float>(),
            std::vector<float>({static_cast<float>(1.0 / 3)}));
}

TEST(AccuracyTest, PredictingNothingIsNeverRight) {
  auto out =
      RunOp("accuracy", {{"Indices", Tensor::FromVector<int64_t>({2, 0}, {})},
                         {"Label", Tensor::FromVector<int64_t>({2}, {1, 0})}});
  EXPECT_EQ(out["Accuracy"].ToVector<float>(), std::vector<float>({0}));
}

TEST(AccuracyTest, RefusesNoRows) {
  ExpectError(ErrorCode::kInvalidArgument, "accuracy.empty",
              {"accuracy", "Label [0, 1] has no rows"}, [] {
                Infer({0, 1}, {0, 1});
              });
}

TEST(AccuracyTest, RefusesMoreRowsThanItCanCount) {
  constexpr int64_t kRows = int64_t{1} << 31;
  ExpectError(ErrorCode::kInvalidArgument, "accuracy.too_many",
              {"Label [2147483648]"}, [] {
                Infer({kRows, 1}, {kRows});
              });
}

TEST(AccuracyTest, RefusesShapesThatDoNotFit) {
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.merge_dim",
              {"Indices", "Label", "3", "4"}, [] {
                Infer({3, 1}, {4});
              });
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.value", {"Label", "2"},
              [] {
                Infer({3, 1}, {3, 2});
              });
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.rank",
              {"Label", "[3, 1, 1]"}, [] {
                Infer({3, 1}, {3, 1, 1});
              });
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.rank",
              {"Indices", "[3]"}, [] { Infer({3}, {3}); });
}

}  // namespace
}  // namespace sluice::operators
