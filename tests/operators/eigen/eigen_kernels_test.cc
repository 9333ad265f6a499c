#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/testing/cuda_device.h"
#include "tests/testing/expect_error.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/framework/hints/kernel_hints.h"
#include "sluice/framework/inspect/explain.h"
#include "sluice/framework/run/run_op.h"
#include "sluice/platform/place_key.h"

// Selects kernels of the library EIGEN by hints. The harness compares them with
// their ops' references.
namespace sluice {
namespace {

using testing::ExpectError;
using Inputs = std::vector<std::pair<std::string, Tensor>>;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor Whole(const DDim& dims) {
  std::vector<float> values(dims.numel());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i % 7) - 3;
  }
  return Tensor::FromVector(dims, values);
}

struct EigenOp {
  std::string op;
  Inputs inputs;
  AttributeMap attributes;
};

std::vector<EigenOp> EigenOps() {
  const std::vector<int64_t> last = {1};
  return {
      {"matmul", {{"X", Whole({5, 9})}, {"Y", Whole({9, 3})}}, {}},
      {"mul", {{"X", Whole({5, 3, 3})}, {"Y", Whole({9, 3})}}, {}},
      {"reduce_sum", {{"X", Whole({5, 9})}}, {{"dim", last}}},
      {"manhattan_distance", {{"X", Whole({5, 9})}, {"Y", Whole({3, 9})}}, {}},
      {"quantize_and_dequantize",
       {{"X", Whole({5, 9})}},
       {{"min", -2.0}, {"max", 2.0}, {"num_bits", int64_t{2}}}},
  };
}

TEST(EigenKernels, AHintChoosesThemAndExplainShowsTheLibrary) {
  for (const EigenOp& op : EigenOps()) {
    OneOp one = MakeOneOp(op.op, op.inputs, op.attributes);
    one.program.SetHints("prefer library=EIGEN");
    Executor executor{CPUPlace()};
    const auto plan = executor.Prepare(one.program, one.feeds, one.fetches);
    EXPECT_EQ(plan->decisions()[0].kernel->key.library, "EIGEN") << op.op;
    EXPECT_THAT(ExplainText(*plan),
                ::testing::HasSubstr("hint: prefer library=EIGEN"));
    // Whole numbers: sums have no rounding errors.
    const Tensor out = executor.Run(one.program, one.feeds, one.fetches)[0];
    const Tensor plain = RunOp(op.op, op.inputs, op.attributes,
                               {.hint = "require library=PLAIN"})
                             .at("Out");
    EXPECT_EQ(out.dims(), plain.dims()) << op.op;
    EXPECT_EQ(out.ToVector<float>(), plain.ToVector<float>()) << op.op;
  }
}

TEST(EigenKernels, WhatTheyRefuseIsAnErrorWhereTheyAreRequired) {
  const RunOpOptions required{.hint = "require library=EIGEN"};
  SCOPED_TRACE("eigen.matmul_batch eigen.reduce_sum_rows");
  ExpectError(ErrorCode::kNotFound, "resolver.no_kernel",
              {"matmul", "Eigen multiplies two matrices", "batch of 2"}, [&] {
                RunOp("matmul",
                      {{"X", Whole({2, 2, 3})}, {"Y", Whole({2, 3, 4})}}, {},
                      required);
              });
  ExpectError(ErrorCode::kNotFound, "resolver.no_kernel",
              {"reduce_sum", "Eigen sums over the last dimensions", "[2, 3]"},
              [&] {
                RunOp("reduce_sum", {{"X", Whole({2, 3})}},
                      {{"dim", std::vector<int64_t>{0}}}, required);
              });
  ExpectError(ErrorCode::kNotFound, "resolver.no_kernel",
              {"matmul", "takes no empty matrices"}, [&] {
                RunOp("matmul", {{"X", Whole({0, 3})}, {"Y", Whole({3, 4})}},
                      {}, required);
              });
}

TEST(EigenKernels, SumsOfRowsDoNotOverflowWithin) {
  const Tensor x = Tensor::FromVector<float>({1, 4}, {3e38F, 3e38F, -3e38F, 1});
  EXPECT_EQ(RunOp("reduce_sum", {{"X", x}}, {{"dim", std::vector<int64_t>{1}}},
                  {.hint = "require library=EIGEN"})
                .at("Out")
                .ToVector<float>()[0],
            3e38F);
}

// Compares the bits of quantize_and_dequantize with the formula's.
void ExpectTheSameBits(DType dtype, const std::string& place) {
  std::vector<float> values = {kNaN,        kInfinity,      -kInfinity,
                               0.49999997F, 8388607.5F,     8388609,
                               16777215,    std::nanf("7"), -0.0F};
  for (int i = -2000; i < 2000; ++i) {
    values.push_back(static_cast<float>(i) / 97);
  }
  const auto count = static_cast<int64_t>(values.size());
  const Tensor x =
      RunOp("cast", {{"X", Tensor::FromVector<float>({count}, values)}},
            {{"dtype", dtype}})
          .at("Out");
  for (const AttributeMap& attributes :
       {AttributeMap{{"min", -1.0}, {"max", 2.0}, {"num_bits", int64_t{4}}},
        AttributeMap{
            {"min", 0.0}, {"max", 16777215.0}, {"num_bits", int64_t{24}}}}) {
    const auto run = [&](const std::string& library) {
      return RunOp("quantize_and_dequantize", {{"X", x}}, attributes,
                   {.place = ParsePlaceKey(place),
                    .hint = "require place=" + place + ", library=" + library})
          .at("Out");
    };
    const Tensor plain = run("PLAIN");
    const Tensor eigen = run("EIGEN");
    ASSERT_EQ(plain.bytes(), eigen.bytes());
    EXPECT_EQ(std::memcmp(plain.raw_data(), eigen.raw_data(), plain.bytes()), 0)
        << ToString(dtype);
  }
}

TEST(EigenKernels, TheExpressionQuantisesAsTheFormulaDoes) {
  for (const auto dtype :
       {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16}) {
    ExpectTheSameBits(dtype, "cpu");
  }
}

TEST(EigenKernels, TheExpressionQuantisesOnCUDAAsTheFormulaDoes) {
  const std::string why = testing::WhyNoCUDA();
  if (!why.empty()) GTEST_SKIP() << why;
  for (const auto dtype : {DType::kFloat32, DType::kFloat64}) {
    ExpectTheSameBits(dtype, "cuda:0");
  }
}

}  // namespace
}  // namespace sluice
