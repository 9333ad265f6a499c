#include "sluice/framework/choice/op_threads.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

int ThreadsOf(double flops, double seconds_of_loop = 2e-6) {
  MachineFigures machine = DerivedFigures("AVX2", 4);
  machine.parallel_for = seconds_of_loop;
  KernelWork work;
  work.flops = flops;
  CountCosts costs{};
  costs[0] = 1;
  return ThreadsFor(work, costs, DType::kFloat32, machine, 4);
}

TEST(ThreadsFor, IsOneWhereWakingOthersCostsMoreThanTheySave) {
  const double a_second = DerivedFigures("AVX2", 4).operations.float32;
  EXPECT_EQ(ThreadsOf(10e-6 * a_second), 1);
  EXPECT_EQ(ThreadsOf(100e-6 * a_second), 4);
  EXPECT_EQ(ThreadsOf(100e-6 * a_second, 80e-6), 1) << "as measured";
}

}  // namespace
}  // namespace sluice
