#include "sluice/framework/op/kernel_work.h"

#include <gtest/gtest.h>

#include "sluice/framework/costs/machine_figures.h"
#include "sluice/framework/op/op_schema.h"

namespace sluice {
namespace {

// 10 operations a second and thread, 100 bytes a second from caches, 10 from
// the memory, 15 with all threads.
MachineFigures Machine() {
  MachineFigures machine;
  machine.threads = 2;
  machine.operations = {10, 5, 20, 10};
  machine.bytes = {100, 100, 100, 10};
  machine.bytes_all_threads = {200, 200, 200, 15};
  machine.kernel_call = 1;
  machine.library_call = 2;
  machine.parallel_for = 3;
  return machine;
}

// 1 for each operation and byte, 1e9 nanoseconds for all else.
CountCosts Costs() {
  CountCosts costs;
  for (size_t i = 0; i < costs.size(); ++i) {
    costs[i] = kWorkCounts[i].unit == CostUnit::kNs ? 1e9 : 1;
  }
  return costs;
}

double Predict(const KernelWork& work,
               int threads = 1,
               DType dtype = DType::kFloat32) {
  return PredictSeconds(work, Costs(), dtype, Machine(), threads);
}

TEST(KernelWork, ArithmeticAndBytesOverlap) {
  EXPECT_DOUBLE_EQ(Predict({.flops = 100, .bytes = 100}), 1 + 10);
  EXPECT_DOUBLE_EQ(Predict({.flops = 100, .loads = 50}), 1 + 15);
  EXPECT_DOUBLE_EQ(Predict({.flops = 10, .bytes = 1000}), 1 + 10);
  EXPECT_DOUBLE_EQ(Predict({.flops = 10, .bytes = 1e12}), 1 + 1e11);
}

TEST(KernelWork, FurtherPassesAndCallsComeOnTop) {
  EXPECT_DOUBLE_EQ(Predict({.flops = 100, .bytes = 500, .extra_bytes = 100}),
                   1 + 10 + 1);
  EXPECT_DOUBLE_EQ(Predict({.library_calls = 2}), 1 + 4);
}

// Threads share moves, and nothing hides them.
TEST(KernelWork, MovesAreAdded) {
  EXPECT_DOUBLE_EQ(Predict({.flops = 100, .moves = 3}), 1 + 10 + 3);
  EXPECT_DOUBLE_EQ(Predict({.moves = 6}, 2), 1 + 3 + 3);
}

TEST(KernelWork, EachCountHasItsCost) {
  for (size_t i = 0; i < std::size(kWorkCounts); ++i) {
    KernelWork work;
    work.*kWorkCounts[i].count = 1;
    CountCosts costs{};
    costs[i] = 2e9;
    EXPECT_GT(PredictSeconds(work, costs, DType::kFloat32, Machine(), 1), 1.5)
        << kWorkCounts[i].name;
  }
}

// Two threads need as long for three parts as for four.
TEST(KernelWork, PartsAreNotSplit) {
  EXPECT_DOUBLE_EQ(Predict({.flops = 120, .max_threads = 3}, 2), 1 + 8 + 3);
  EXPECT_DOUBLE_EQ(Predict({.flops = 120, .max_threads = 4}, 2), 1 + 6 + 3);
}

TEST(KernelWork, ThreadsShareTheWorkAndCostALoop) {
  EXPECT_DOUBLE_EQ(Predict({.flops = 100}, 2), 1 + 5 + 3);
  // At most the number of threads that have work.
  EXPECT_DOUBLE_EQ(Predict({.flops = 100, .max_threads = 1.9}, 2), 1 + 10);
  EXPECT_DOUBLE_EQ(Predict({.bytes = 3e12, .parallel_loops = 2}, 2),
                   1 + 2e11 + 6);
}

TEST(KernelWork, DTypesHaveTheirOwnRates) {
  EXPECT_DOUBLE_EQ(Predict({.flops = 100}, 1, DType::kFloat64), 1 + 20);
}

TEST(KernelWork, TheDefaultTouchesEveryValueOnce) {
  OpSchema schema("op");
  schema.Input("X", "T", "");
  schema.Input("Like", "T", "", {.shape_only = true});
  schema.Output("Out", "T", "");
  OpDesc op;
  op.inputs = {{"X", {"x"}}, {"Like", {"l"}}};
  op.outputs = {{"Out", {"o"}}};
  const std::vector<DDim> inputs = {DDim({4, 3}), DDim({100})};
  const std::vector<DType> input_dtypes = {DType::kFloat64, DType::kFloat32};
  const std::vector<DDim> outputs = {DDim({5})};
  const std::vector<DType> output_dtypes = {DType::kBFloat16};
  const KernelWork work = DefaultKernelWork(
      {schema, op, inputs, input_dtypes, outputs, output_dtypes, {}});
  EXPECT_DOUBLE_EQ(work.bytes, 4 * 3 * 8 + 5 * 2);
  EXPECT_DOUBLE_EQ(work.flops, 5);
}

}  // namespace
}  // namespace sluice
