#include <algorithm>

#include <gtest/gtest.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/run/executor.h"
#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

TEST(Sum, IsEstimatedByAllItsInputs) {
  for (const size_t inputs : {1, 2, 5}) {
    Program program;
    program.Data("x", DType::kFloat32, {2, 3});
    program.AppendOp("sum", {{"X", ArgVars(inputs, "x")}});
    Executor executor;
    const auto plan = executor.Prepare(
        program, {{"x", Tensor::FromVector<float>({2, 3}, {1, 2, 3, 4, 5, 6})}},
        {program.Output("Out")});
    const KernelWork& work = plan->decisions()[0].candidates()[0].work;
    EXPECT_EQ(work.flops, 6.0 * std::max<size_t>(inputs - 1, 1)) << inputs;
    EXPECT_EQ(work.bytes, 24.0 * (inputs + 1)) << inputs;
  }
}

TEST(Sum, IsTheFrameworksSum) {
  EXPECT_EQ(Registry::Global().Schema("sum").role(), OpRole::kSum);
}

}  // namespace
}  // namespace sluice
