#include <cmath>
#include <vector>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::ExpectError;
using Floats = std::vector<float>;
using Int64s = std::vector<int64_t>;

std::map<std::string, Tensor> RunAuc(const Floats& scores,
                                     const Int64s& labels,
                                     const Tensor& before,
                                     const AttributeMap& attributes) {
  const auto rows = static_cast<int64_t>(scores.size());
  return RunOp("auc",
               {{"Predict", Tensor::FromVector<float>({rows, 1}, scores)},
                {"Label", Tensor::FromVector<int64_t>({rows}, labels)},
                {"StatPos", before},
                {"StatNeg", before}},
               attributes);
}

TEST(Auc, IsTheShareOfPairsInTheRightOrder) {
  const Tensor zeros = Tensor::FromVector<int64_t>({1, 5}, Int64s(5, 0));
  const AttributeMap steps = {{"num_thresholds", int64_t{4}}};
  // 3 of 4 pairs; then one pair is a tie.
  auto out = RunAuc({0.1F, 0.6F, 0.3F, 1}, {0, 0, 1, 1}, zeros, steps);
  EXPECT_EQ(out["AUC"].ToVector<double>()[0], 0.75);
  EXPECT_EQ(out["StatPosOut"].ToVector<int64_t>(), (Int64s{0, 1, 0, 0, 1}));
  out = RunAuc({0.1F, 0.3F, 0.3F, 1}, {0, 0, 1, 1}, zeros, steps);
  EXPECT_EQ(out["AUC"].ToVector<double>()[0], 0.875);
  out = RunAuc({0.1F, 0.3F}, {1, 1}, zeros, steps);
  EXPECT_EQ(out["AUC"].ToVector<double>()[0], 0);
}

TEST(Auc, AWindowForgetsTheOldestRun) {
  const Tensor before = Tensor::FromVector<int64_t>({2, 3}, {9, 9, 9, 0, 1, 0});
  const auto out =
      RunAuc({0.9F}, {1}, before,
             {{"num_thresholds", int64_t{2}}, {"slide_steps", int64_t{2}}});
  EXPECT_EQ(out.at("StatPosOut").ToVector<int64_t>(),
            (Int64s{0, 1, 0, 0, 1, 0}));
  EXPECT_EQ(out.at("StatNegOut").ToVector<int64_t>(),
            (Int64s{0, 1, 0, 0, 0, 0}));
}

TEST(Auc, RefusesWhatIsNoProbability) {
  const Tensor zeros = Tensor::FromVector<int64_t>({1, 5}, Int64s(5, 0));
  for (const float bad : {-0.1F, 1.5F, std::nanf("")}) {
    ExpectError(
        ErrorCode::kOutOfRange, "auc.score",
        {"auc", "Predict", "row 1", "0 to 1"}, [&] {
          RunAuc({0.5F, bad}, {0, 1}, zeros, {{"num_thresholds", int64_t{4}}});
        });
  }
}

TEST(PrecisionRecall, AveragesOverClassesAndOverRows) {
  const auto out =
      RunOp("precision_recall",
            {{"Indices", Tensor::FromVector<int64_t>({4}, {0, 1, 1, 1})},
             {"Labels", Tensor::FromVector<int64_t>({4, 1}, {0, 0, 1, 1})},
             {"StatesInfo",
              Tensor::FromVector<float>({2, 4}, {1, 0, 0, 0, 0, 0, 1, 0})}},
            {{"class_number", int64_t{2}}});
  const auto batch = out.at("BatchMetrics").ToVector<double>();
  EXPECT_DOUBLE_EQ(batch[0], 5.0 / 6);
  EXPECT_DOUBLE_EQ(batch[1], 0.75);
  EXPECT_DOUBLE_EQ(batch[3], 0.75);
  EXPECT_EQ(out.at("AccumStatesInfo").ToVector<float>(),
            (Floats{2, 0, 2, 1, 2, 1, 2, 0}));
}

}  // namespace
}  // namespace sluice
