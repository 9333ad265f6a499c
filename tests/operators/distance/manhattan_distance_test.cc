#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/plan/plan.h"
#include "sluice/framework/run/executor.h"
#include "sluice/framework/run/run_op.h"
#include "sluice/operators/math/distance/manhattan_distance_functor.h"

namespace sluice {
namespace {

using testing::ExpectError;
using testing::InferOpShapes;

constexpr const char* kVariants[] = {"plain", "blocked"};

Tensor Distance(const Tensor& x,
                const Tensor& y,
                const std::string& variant = "blocked") {
  return RunOp("manhattan_distance", {{"X", x}, {"Y", y}}, {},
               {.hint = "require variant=" + variant})
      .at("Out");
}

std::map<std::string, Tensor> Gradient(
    const Tensor& x,
    const Tensor& y,
    const Tensor& out_grad,
    const std::string& variant = "blocked",
    const std::vector<std::string>& outputs = {"X@GRAD", "Y@GRAD"}) {
  return RunOp("manhattan_distance_grad",
               {{"X", x}, {"Y", y}, {"Out@GRAD", out_grad}}, {},
               {.hint = "require variant=" + variant, .outputs = outputs});
}

template <typename T>
std::vector<T> RandomValues(int64_t count, int seed) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::uniform_real_distribution<T> values(-1, 1);
  std::vector<T> result(static_cast<size_t>(count));
  for (T& value : result)
    value = values(random);
  return result;
}

template <typename T>
void ExpectFormula(int64_t n, int64_t m, int64_t p, double tolerance) {
  const auto x = RandomValues<T>(n * p, 1);
  const auto y = RandomValues<T>(m * p, 2);
  for (const char* variant : kVariants) {
    const auto out = Distance(Tensor::FromVector<T>({n, p}, x),
                              Tensor::FromVector<T>({m, p}, y), variant)
                         .template ToVector<T>();
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < m; ++j) {
        double expected = 0;
        for (int64_t k = 0; k < p; ++k) {
          expected += std::abs(static_cast<double>(x[i * p + k]) -
                               static_cast<double>(y[j * p + k]));
        }
        ASSERT_NEAR(out[i * m + j], expected, tolerance * expected)
            << variant << " " << i << " " << j << " of " << n << " " << m;
      }
    }
  }
}

TEST(ManhattanDistance, BothVariantsFollowTheFormula) {
  ExpectFormula<float>(1, 1, 1, 1e-5);
  ExpectFormula<float>(37, 23, 65, 1e-5);
  ExpectFormula<double>(37, 23, 65, 1e-13);
  ExpectFormula<double>(5, 70, 3, 1e-13);
}

TEST(ManhattanDistance, BlockedIsTheDefault) {
  Program program;
  Feeds feeds;
  for (const char* name : {"x", "y"}) {
    feeds.emplace_back(
        name, Tensor::FromVector<float>({40, 5}, std::vector<float>(200, 1)));
    program.Data(name, DType::kFloat32, {40, 5});
  }
  OpDesc op;
  op.type = "manhattan_distance";
  op.inputs = {{"X", {"x"}}, {"Y", {"y"}}};
  op.outputs = {{"Out", {"out"}}};
  program.AppendOp(op);
  Executor executor;
  const auto plan = executor.Prepare(program, feeds, {"out"});
  EXPECT_EQ(plan->decisions()[0].kernel->variant, "blocked");
}

TEST(ManhattanDistance, RefusesWidthsThatDiffer) {
  const auto x = Tensor::FromVector<float>({1, 3}, {1, 2, 3});
  const auto y = Tensor::FromVector<float>({1, 2}, {1, 2});
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.merge_dim",
              {"manhattan_distance", "X", "[1, 3]", "Y", "[1, 2]", "3 and 2"},
              [&] { Distance(x, y); });
  EXPECT_EQ(Distance(x, x).ToVector<float>(), std::vector<float>{0});
}

TEST(ManhattanDistance, InfersUnknownShapes) {
  EXPECT_EQ(
      InferOpShapes("manhattan_distance", {{"X", {-1, 48}}, {"Y", {5, -1}}})
          .at("Out"),
      DDim({-1, 5}));
  EXPECT_EQ(InferOpShapes("manhattan_distance",
                          {{"X", DDim::UnknownRank()}, {"Y", {5, 2}}})
                .at("Out"),
            DDim({-1, 5}));
}

TEST(ManhattanDistance, FunctorComputesByItself) {
  const auto x = Tensor::FromVector<double>({2, 1}, {1, 2});
  const auto y = Tensor::FromVector<double>({1, 1}, {5});
  Tensor z;
  z.mutable_data<double>({2, 1}, CPUPlace());
  const CPUDeviceContext context;
  ManhattanDistance<CPUDeviceContext, double>()(context, x, y, &z);
  EXPECT_EQ(z.ToVector<double>(), (std::vector<double>{4, 3}));
}

TEST(ManhattanDistanceGrad, OneGradientAlone) {
  const auto x = Tensor::FromVector<float>({1, 2}, {1, 2});
  const auto y = Tensor::FromVector<float>({1, 2}, {0, 3});
  const auto out_grad = Tensor::FromVector<float>({1, 1}, {2});
  for (const char* variant : kVariants) {
    auto only_x = Gradient(x, y, out_grad, variant, {"X@GRAD"});
    EXPECT_EQ(only_x.size(), 1U);
    EXPECT_EQ(only_x["X@GRAD"].ToVector<float>(), (std::vector<float>{2, -2}));
    auto only_y = Gradient(x, y, out_grad, variant, {"Y@GRAD"});
    EXPECT_EQ(only_y.size(), 1U);
    EXPECT_EQ(only_y["Y@GRAD"].ToVector<float>(), (std::vector<float>{-2, 2}));
  }
}

}  // namespace
}  // namespace sluice
