#include <limits>

#include "tests/bad_input/bad_input.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/executor.h"
#include "sluice/framework/run/run_op.h"

namespace sluice::testing {
namespace {

using Ints = std::vector<int64_t>;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(BadShapes, WidthsOfXAndYDiffer) {
  ExpectRefusedOp(ErrorCode::kInvalidArgument, "infer_shape.merge_dim",
                  {"manhattan_distance: ", "dim 1 of input X",
                   "dim 1 of input Y", "3", "4"},
                  "manhattan_distance",
                  {{"X", Floats({2, 3})}, {"Y", Floats({2, 4})}});
}

TEST(BadShapes, ANegativeCropOffset) {
  ExpectRefusedOp(ErrorCode::kInvalidArgument, "crop.offset_negative",
                  {"crop: ", "offsets[1] = -1", "expected 0 or more"}, "crop",
                  {{"X", Floats({4, 10})}},
                  {{"offsets", Ints{0, -1}}, {"shape", Ints{2, 2}}});
  ExpectRefusedData("crop.offset_negative_at_run",
                    {"crop: ", "Offsets[0] = -2", "expected 0 or more"}, "crop",
                    {{"X", Floats({4, 10})},
                     {"Offsets", Tensor::FromVector<int32_t>({2}, {-2, 0})}},
                    {{"shape", Ints{2, 2}}}, {2, 2}, ErrorCode::kOutOfRange);
}

TEST(BadShapes, ACropPastTheEnd) {
  ExpectRefusedOp(
      ErrorCode::kInvalidArgument, "crop.offset_range",
      {"crop: ", "offsets[1] + shape[1] = 11", "input X", "dim 1 of [4, 10]"},
      "crop", {{"X", Floats({4, 10})}},
      {{"offsets", Ints{0, 9}}, {"shape", Ints{2, 2}}});
  ExpectRefusedData("crop.offset_range_at_run",
                    {"crop: ", "Offsets[1] = 9", "input X", "[4, 10]"}, "crop",
                    {{"X", Floats({4, 10})},
                     {"Offsets", Tensor::FromVector<int64_t>({2}, {0, 9})}},
                    {{"shape", Ints{2, 2}}}, {2, 2}, ErrorCode::kOutOfRange);
}

TEST(BadShapes, ACropWhoseEndOverflows) {
  ExpectRefusedOp(
      ErrorCode::kInvalidArgument, "crop.offset_overflow",
      {"crop: ", "offsets[0] + shape[0]", "9223372036854775807", "64 bits"},
      "crop", {{"X", Floats({4, 10})}},
      {{"offsets", Ints{kMax, 0}}, {"shape", Ints{2, 2}}});
  ExpectRefusedData("crop.offset_range_at_run",
                    {"crop: ", "Offsets[0] = 9223372036854775807"}, "crop",
                    {{"X", Floats({4, 10})},
                     {"Offsets", Tensor::FromVector<int64_t>({2}, {kMax, 0})}},
                    {{"shape", Ints{2, 2}}}, {2, 2}, ErrorCode::kOutOfRange);
}

struct RankCase {
  const char* op;
  OpArguments inputs;
  AttributeMap attributes;
  const char* check_id;
  std::vector<const char*> fragments;
};

TEST(BadShapes, RanksThatDoNotMatch) {
  const Tensor mask = Tensor::FromVector<int32_t>({1, 1, 2}, {0, 1});
  const RankCase cases[] = {
      {"manhattan_distance",
       {{"X", Floats({2, 3, 1})}, {"Y", Floats({2, 3})}},
       {},
       "infer_shape.rank",
       {"input X", "rank 2", "rank 3"}},
      {"maxout",
       {{"X", Floats({2, 4})}},
       {{"groups", int64_t{2}}},
       "infer_shape.rank",
       {"input X", "rank 4", "rank 2"}},
      {"bias_add",
       {{"X", Floats({2, 3})}, {"Bias", Floats({3, 1})}},
       {},
       "infer_shape.rank",
       {"input Bias", "rank 1", "rank 2"}},
      {"bias_add",
       {{"X", Floats({3})}, {"Bias", Floats({3})}},
       {},
       "infer_shape.rank_at_least",
       {"input X", "rank 2 or more", "rank 1"}},
      {"crop",
       {{"X", Floats({3, 4})}, {"Y", Floats({2})}},
       {},
       "infer_shape.rank",
       {"input Y", "rank 2", "rank 1"}},
      {"crop",
       {{"X", Floats({3, 4})}},
       {{"shape", Ints{2}}},
       "crop.shape_rank",
       {"attribute shape", "1 entries", "[3, 4]"}},
      {"transpose",
       {{"X", Floats({3, 4})}},
       {{"axis", Ints{0, 1, 2}}},
       "transpose.rank",
       {"attribute axis", "3 entries", "[3, 4]"}},
      {"gather",
       {{"X", Floats({})}, {"Index", Tensor::FromVector<int32_t>({1}, {0})}},
       {},
       "infer_shape.rank_at_least",
       {"input X", "rank 1 or more", "rank 0"}},
      {"average_embedding_mask",
       {{"Embedding", Floats({1, 1, 1, 2})}, {"Mask", mask}},
       {},
       "infer_shape.rank",
       {"input Mask", "rank 4", "rank 3"}},
      {"accuracy",
       {{"Indices", mask}, {"Label", mask}},
       {},
       "infer_shape.rank",
       {"input Indices", "rank 2", "rank 3"}},
  };
  for (const RankCase& wrong : cases) {
    SCOPED_TRACE(wrong.op);
    ExpectRefusedInput(
        ErrorCode::kInvalidArgument, wrong.check_id, {wrong.op},
        [&] { RunOp(wrong.op, wrong.inputs, wrong.attributes); });
    for (const char* fragment : wrong.fragments) {
      ExpectError(ErrorCode::kInvalidArgument, wrong.check_id, {fragment},
                  [&] { RunOp(wrong.op, wrong.inputs, wrong.attributes); });
    }
  }
}

TEST(BadShapes, ShapesWhoseProductOverflows) {
  constexpr int64_t kHuge = int64_t{1} << 32;
  ExpectRefusedInput(ErrorCode::kOutOfRange, "ddim.overflow",
                     {"[4294967296, 4294967296]", "64 bits"}, [] {
                       Tensor().Resize({kHuge, kHuge});
                     });
  // The number of elements fits into 64 bits, the number of bytes does not.
  ExpectRefusedInput(
      ErrorCode::kOutOfRange, "tensor.bytes_overflow", {"float64", "64 bits"},
      [] {
        Tensor().mutable_data<double>({kHuge, kHuge / 4}, CPUPlace());
      });
  // 2^32 points without elements need no memory; their distances would.
  Tensor points;
  points.mutable_data<float>({kHuge, 0}, CPUPlace());
  ExpectRefusedInput(
      ErrorCode::kOutOfRange, "ddim.overflow",
      {"manhattan_distance", "[4294967296, 4294967296]"}, [&] {
        RunOp("manhattan_distance", {{"X", points}, {"Y", points}});
      });
  ExpectRefusedInput(
      ErrorCode::kInvalidArgument, "reshape.overflow",
      {"reshape: ", "shape", "64 bits"}, [] {
        RunOp("reshape", {{"X", Floats({2})}}, {{"shape", Ints{kMax, 2}}});
      });
  ExpectRefusedInput(
      ErrorCode::kOutOfRange, "ddim.overflow",
      {"[9223372036854775807, 2]", "64 bits", "assign_value"}, [] {
        RunOp("assign_value", {},
              {{"shape", Ints{kMax, 2}}, {"values", std::vector<double>{1}}});
      });
}

TEST(BadShapes, AnOutputTooLargeForMemory) {
  Tensor points;
  points.mutable_data<float>({int64_t{1} << 24, 0}, CPUPlace());
  ExpectRefusedInput(
      ErrorCode::kResourceExhausted, "memory.exhausted",
      {"memory: no room for", "1.13 PB", "cpu", "in use", "limit",
       "float32 [16777216, 16777216]", "op 0 (manhattan_distance)"},
      [&] {
        RunOp("manhattan_distance", {{"X", points}, {"Y", points}});
      });
  Program program;
  program.Data("x", DType::kFloat32, points.dims());
  program.AppendOp("manhattan_distance", {{"X", {"x"}}, {"Y", {"x"}}}, {}, {},
                   {{"Out", {"distance"}}});
  program.AppendOp("reduce_sum", {{"X", {"distance"}}}, {}, {},
                   {{"Out", {"sum"}}});
  ExpectRefusedInput(ErrorCode::kResourceExhausted, "memory.exhausted",
                     {"no room for", "values that ops hand to each other"},
                     [&] {
                       Executor().Run(program, {{"x", points}}, {"sum"});
                     });
}

}  // namespace
}  // namespace sluice::testing
