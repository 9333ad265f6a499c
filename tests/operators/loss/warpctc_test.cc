#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using Floats = std::vector<float>;
using Int64s = std::vector<int64_t>;

// One sequence of two times and two classes, of which 0 is the blank.
std::vector<std::pair<std::string, Tensor>> CtcInputs(const Floats& logits,
                                                      const Int64s& label,
                                                      int64_t times,
                                                      int64_t length) {
  const auto most = static_cast<int64_t>(label.size());
  return {{"Logits", Tensor::FromVector<float>({2, 1, 2}, logits)},
          {"Label", Tensor::FromVector<int64_t>({1, most}, label)},
          {"LogitsLength", Tensor::FromVector<int64_t>({1}, {times})},
          {"LabelLength", Tensor::FromVector<int64_t>({1}, {length})}};
}

float CtcLoss(const Floats& logits,
              const Int64s& label,
              int64_t times,
              int64_t length) {
  return RunOp("warpctc", CtcInputs(logits, label, times, length))["Loss"]
      .ToVector<float>()[0];
}

TEST(WarpCtc, StaysExactWhereProbabilitiesUnderflow) {
  EXPECT_FLOAT_EQ(CtcLoss({1e4F, 0, 1e4F, 0}, {1}, 2, 1),
                  1e4F - std::log(2.0F));
}

TEST(WarpCtc, AnImpossibleLabelHasAnInfiniteLossAndNoGradient) {
  // Equal labels need a blank between them.
  auto inputs = CtcInputs({0, 1, 2, 3}, {1, 1}, 2, 2);
  EXPECT_EQ(RunOp("warpctc", inputs)["Loss"].ToVector<float>()[0],
            std::numeric_limits<float>::infinity());
  inputs.emplace_back("Loss@GRAD", Tensor::FromVector<float>({1, 1}, {1}));
  EXPECT_EQ(RunOp("warpctc_grad", inputs)["Logits@GRAD"].ToVector<float>(),
            Floats(4, 0));
}

}  // namespace
}  // namespace sluice
