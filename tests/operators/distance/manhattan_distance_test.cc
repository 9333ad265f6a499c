#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/plan/plan.h"
#include "sluice/framework/run/executor.h"
#include "sluice/operators/math/distance/manhattan_distance_functor.h"

namespace sluice {
namespace {

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

TEST(ManhattanDistance, FunctorComputesByItself) {
  const auto x = Tensor::FromVector<double>({2, 1}, {1, 2});
  const auto y = Tensor::FromVector<double>({1, 1}, {5});
  Tensor z;
  z.mutable_data<double>({2, 1}, CPUPlace());
  const CPUDeviceContext context;
  ManhattanDistance<CPUDeviceContext, double>()(context, x, y, &z);
  EXPECT_EQ(z.ToVector<double>(), (std::vector<double>{4, 3}));
}

}  // namespace
}  // namespace sluice
