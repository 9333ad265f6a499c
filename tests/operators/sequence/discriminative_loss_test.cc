#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using testing::ExpectError;
using Doubles = std::vector<double>;
using Inputs = std::vector<std::pair<std::string, Tensor>>;

// An image of one row with one feature, and masks of consecutive columns up to
// `ends`.
Inputs Row(const Doubles& pixels, const std::vector<int64_t>& ends) {
  std::vector<int64_t> runs;
  int64_t start = 0;
  for (const int64_t end : ends) {
    runs.insert(runs.end(), {start, end});
    start = end;
  }
  const auto y = static_cast<int64_t>(pixels.size());
  const auto masks = static_cast<int64_t>(ends.size());
  return {{"Embedding", Tensor::FromVector<double>({1, 1, y, 1}, pixels)},
          {"Mask", Tensor::FromVector<int64_t>({1, masks, 1, 2}, runs)}};
}

double RowLoss(const Doubles& pixels,
               const std::vector<int64_t>& ends,
               const AttributeMap& attributes) {
  return RunOp("discriminative_loss", Row(pixels, ends), attributes)["Loss"]
      .ToVector<double>()[0];
}

Doubles RowGrad(const Doubles& pixels,
                const std::vector<int64_t>& ends,
                const AttributeMap& attributes) {
  Inputs inputs = Row(pixels, ends);
  inputs.emplace_back("Loss@GRAD", Tensor::FromVector<double>({1}, {1}));
  return RunOp("discriminative_loss_grad", inputs, attributes)["Embedding@GRAD"]
      .ToVector<double>();
}

TEST(DiscriminativeLoss, KeepsNaNOfMasksAndNoOther) {
  const double nan = std::nan("");
  EXPECT_TRUE(std::isnan(RowLoss({1, nan, 3}, {2, 3}, {})));
  EXPECT_FALSE(std::isnan(RowLoss({1, 2, nan}, {1, 2}, {})));
  EXPECT_EQ(RowGrad({1, 2, nan}, {1, 2}, {})[2], 0);
}

TEST(DiscriminativeLoss, RefusesWhatCannotBe) {
  for (const char* name : {"delta_v", "delta_d", "variance_weight",
                           "distance_weight", "regularization_weight"}) {
    for (const double bad :
         {-0.5, std::nan(""), std::numeric_limits<double>::infinity()}) {
      ExpectError(ErrorCode::kInvalidArgument, "discriminative_loss.attribute",
                  {"discriminative_loss", name, "0 or more"}, [&] {
                    RowLoss({1}, {1}, {{name, bad}});
                  });
    }
  }
  ExpectError(ErrorCode::kOutOfRange, "embedding_mask.end_past_y",
              {"discriminative_loss: ", "Mask[0, 1, 0]", "[1, 4)", "at most 3"},
              [&] {
                RowLoss({1, 2, 3}, {1, 4}, {});
              });
  ExpectError(ErrorCode::kOutOfRange, "embedding_mask.start_past_end",
              {"discriminative_loss_grad: ", "[2, 1)"}, [&] {
                RowGrad({1, 2, 3}, {2, 1}, {});
              });
}

// The masks themselves need no memory, but their means do.
TEST(DiscriminativeLoss, RefusesMoreMasksThanFitIntoMemory) {
  const Tensor x = Tensor::FromVector<float>({1, 0, 2, 1}, {});
  const auto refused = [&](int64_t masks, std::string_view check,
                           const std::string& part) {
    const Tensor mask = Tensor::FromVector<int32_t>({1, masks, 0, 2}, {});
    ExpectError(ErrorCode::kResourceExhausted, check, {part}, [&] {
      RunOp("discriminative_loss", {{"Embedding", x}, {"Mask", mask}});
    });
  };
  refused(int64_t{1} << 45, "memory.exhausted", "no room for");
  // The number of bytes exceeds 64 bits.
  refused(int64_t{1} << 59, "memory_planner.too_large", "at once: ");
}

}  // namespace
}  // namespace sluice
