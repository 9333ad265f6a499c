#include <algorithm>
#include <limits>

#include "tests/bad_input/bad_input.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/executor.h"
#include "sluice/framework/run/run_op.h"

namespace sluice::testing {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(BadValues, GroupsOfMaxOut) {
  const OpArguments x = {{"X", Floats({1, 4, 1, 1})}};
  for (int64_t groups : {0, -2}) {
    ExpectRefusedOp(
        ErrorCode::kInvalidArgument, "op.attribute_limit",
        {"maxout: ", "attribute groups", "at least 1", std::to_string(groups)},
        "maxout", x, {{"groups", groups}});
  }
  ExpectRefusedOp(
      ErrorCode::kInvalidArgument, "maxout.groups",
      {"maxout: ", "groups = 3", "does not divide", "4 channels", "input X"},
      "maxout", x, {{"groups", int64_t{3}}});
  const OpArguments with_grad = {x[0], {"Out@GRAD", Floats({1, 2, 1, 1})}};
  ExpectRefusedOp(ErrorCode::kInvalidArgument, "maxout.groups",
                  {"maxout_grad: ", "groups = 3"}, "maxout_grad", with_grad,
                  {{"groups", int64_t{3}}});
}

// One mask over an image of 2 columns and 3 rows.
template <typename S>
void ExpectRefusedRuns(const char* check_id,
                       std::initializer_list<std::string_view> fragments,
                       const std::vector<S>& runs) {
  ExpectRefusedData(check_id, fragments, "average_embedding_mask",
                    {{"Embedding", Floats({1, 2, 3, 2})},
                     {"Mask", Tensor::FromVector<S>({1, 1, 2, 2}, runs)}},
                    {}, {1, 1, 2}, ErrorCode::kOutOfRange);
}

TEST(BadValues, RunsOfAMask) {
  ExpectRefusedRuns<int32_t>(
      "embedding_mask.start_past_end",
      {"average_embedding_mask: ", "Mask[0, 0, 1]", "[3, 2)", "start <= end"},
      {0, 1, 3, 2});
  ExpectRefusedRuns<int64_t>("embedding_mask.end_past_y",
                             {"average_embedding_mask: ", "Mask[0, 0, 0]",
                              "[0, 4)", "at most 3", "Embedding"},
                             {0, 4, 0, 1});
  ExpectRefusedRuns<int64_t>(
      "embedding_mask.negative_start",
      {"average_embedding_mask: ", "Mask[0, 0, 1]", "[-1, 2)", "0 or more"},
      {0, 1, -1, 2});
}

TEST(BadValues, ShapesOfAMask) {
  const auto refused = [](const char* check_id, const DDim& mask_dims,
                          std::initializer_list<std::string_view> fragments) {
    Tensor mask;
    mask.mutable_data<int32_t>(mask_dims, CPUPlace());
    std::fill_n(mask.data<int32_t>(), mask.numel(), 0);
    ExpectRefusedOp(ErrorCode::kInvalidArgument, check_id, fragments,
                    "average_embedding_mask",
                    {{"Embedding", Floats({2, 3, 4, 5})}, {"Mask", mask}});
  };
  refused("infer_shape.merge_dim", {3, 1, 3, 2},
          {"average_embedding_mask: ", "dim 0 of input Embedding",
           "dim 0 of input Mask", "2 and 3"});
  refused("infer_shape.merge_dim", {2, 1, 4, 2},
          {"average_embedding_mask: ", "dim 1 of input Embedding",
           "dim 2 of input Mask", "3 and 4"});
  refused("infer_shape.value", {2, 1, 3, 3},
          {"average_embedding_mask: ", "dim 3 of input Mask", "must be 2",
           "got 3"});
}

TEST(BadValues, BoundsOfAQuantisation) {
  const auto refused = [](double min, double max, const char* got) {
    ExpectRefusedOp(ErrorCode::kInvalidArgument,
                    "quantize_and_dequantize.range",
                    {"quantize_and_dequantize: ", "attributes min", got,
                     "finite numbers with min < max"},
                    "quantize_and_dequantize", {{"X", Floats({3})}},
                    {{"min", min}, {"max", max}});
  };
  refused(kNaN, 1, "min = nan");
  refused(0, kNaN, "max = nan");
  refused(1, 1, "min = 1 and max = 1");
  refused(2, 1, "min = 2 and max = 1");
  refused(-kInfinity, 1, "min = -inf");
  refused(0, kInfinity, "max = inf");
}

TEST(BadValues, DataThatARangeIsTakenFrom) {
  const auto refused = [](const std::vector<float>& x, const char* got) {
    const auto count = static_cast<int64_t>(x.size());
    ExpectRefusedData("quantize_and_dequantize.data_range",
                      {"quantize_and_dequantize: ", "input X", got,
                       "finite ones that differ"},
                      "quantize_and_dequantize",
                      {{"X", Tensor::FromVector<float>({count}, x)}},
                      {{"range_given", false}}, {count},
                      ErrorCode::kInvalidArgument);
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  refused({4, 4, 4}, "from 4 to 4");
  refused({1, nan, 3}, "nan");
}

TEST(BadValues, AnIndexOutsideOfWhatIsGathered) {
  for (int32_t index : {-4, 3}) {
    ExpectRefusedData("gather.index_range_at_run",
                      {"gather: ", "input Index[1] = " + std::to_string(index),
                       "[-3, 3)", "input X [3, 2]"},
                      "gather",
                      {{"X", Floats({3, 2})},
                       {"Index", Tensor::FromVector<int32_t>({2}, {0, index})}},
                      {}, {2, 2}, ErrorCode::kOutOfRange);
  }
}

TEST(BadValues, MoreElementsThanARowHas) {
  ExpectRefusedOp(ErrorCode::kInvalidArgument, "top_k.k_range",
                  {"top_k: ", "k = 4", "input X [2, 3]"}, "top_k",
                  {{"X", Floats({2, 3})}}, {{"k", int64_t{4}}});
  ExpectRefusedOp(ErrorCode::kInvalidArgument, "op.attribute_limit",
                  {"top_k: ", "attribute k", "at least 0", "got -1"}, "top_k",
                  {{"X", Floats({2, 3})}}, {{"k", int64_t{-1}}});
}

}  // namespace
}  // namespace sluice::testing
