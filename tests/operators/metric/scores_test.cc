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

}  // namespace
}  // namespace sluice
