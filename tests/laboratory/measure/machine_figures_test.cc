#include "sluice/framework/costs/machine_figures.h"

#include <cmath>

#include "tests/testing/child_process.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/costs/machine.h"
#include "sluice/laboratory/measure/machine_measurement.h"
#include "sluice/laboratory/measure/measure_clock.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::testing {
namespace {

TEST(DerivedFigures, AreTheSameEachTime) {
  EXPECT_EQ(DerivedFigures(), DerivedFigures());
  EXPECT_EQ(DerivedFigures().date, "");
  EXPECT_EQ(DerivedFigures().machine, MachineId().text);
  EXPECT_EQ(DerivedFigures("AVX2", 0).threads, 1);
}

TEST(DerivedFigures, WiderVectorsDoMore) {
  const MachineFigures sse = DerivedFigures("SSE4", 2);
  const MachineFigures avx2 = DerivedFigures("AVX2", 2);
  const MachineFigures avx512 = DerivedFigures("AVX3", 2);
  const MachineFigures zen4 = DerivedFigures("AVX3_ZEN4", 2);
  EXPECT_LT(sse.operations.float32, avx2.operations.float32);
  EXPECT_LT(avx2.operations.float32, avx512.operations.float32);
  EXPECT_LT(avx2.operations.float64, avx2.operations.float32);
  EXPECT_LT(avx512.operations.int8, zen4.operations.int8);
  EXPECT_LT(avx512.operations.bfloat16, zen4.operations.bfloat16);
}

TEST(DerivedFigures, MoreThreadsReadMoreAndCostMore) {
  const MachineFigures one = DerivedFigures("AVX2", 1);
  const MachineFigures eight = DerivedFigures("AVX2", 8);
  EXPECT_EQ(one.bytes, one.bytes_all_threads);
  EXPECT_EQ(one.bytes, eight.bytes);
  EXPECT_GT(eight.bytes_all_threads.memory, one.bytes.memory);
  EXPECT_LT(eight.bytes_all_threads.memory, 8 * one.bytes.memory);
  EXPECT_GT(eight.parallel_for, one.parallel_for);
}

TEST(MachineFigures, JsonKeepsEveryMember) {
  MachineFigures figures = DerivedFigures("AVX2", 3);
  figures.date = "2025-03-01T12:00:00.000Z";
  figures.operations.int8 = 1e11 / 3;
  const auto read = FiguresFromJson(FiguresToJson(figures));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, figures);
}

TEST(MachineFigures, OtherJsonIsNone) {
  const std::string json = FiguresToJson(DerivedFigures("AVX2", 3));
  const auto changed = [&json](const char* from, const char* to) {
    std::string text = json;
    text.replace(text.find(from), std::string(from).size(), to);
    return text;
  };
  EXPECT_FALSE(FiguresFromJson("{}"));
  EXPECT_FALSE(FiguresFromJson("7"));
  EXPECT_FALSE(FiguresFromJson(changed("machine_figures", "record")));
  EXPECT_FALSE(FiguresFromJson(changed("\"threads\":3", "\"threads\":0")));
  EXPECT_FALSE(FiguresFromJson(changed("\"memory\":", "\"memory\":-")));
  EXPECT_FALSE(FiguresFromJson(changed("\"memory\":", "\"memories\":")));
}

bool WiderIsFaster(const MachineFigures& figures) {
  return figures.operations.float32 > 1.2 * figures.operations.float64;
}

TEST(MeasureMachine, FiguresArePlausible) {
  if (!CanStartItself()) GTEST_SKIP() << "QEMU is slower than any machine";
  const ThreadCountGuard threads(2);
  MachineFigures figures = MeasureMachine(1);
  // Other tests run at the same time, and may have disturbed one of the two.
  for (int again = 0; again < 3 && !WiderIsFaster(figures); ++again) {
    figures = MeasureMachine(1);
  }
  EXPECT_EQ(figures.threads, 2);
  EXPECT_NE(figures.date, "");
  EXPECT_GT(figures.operations.float32, 5e8);
  EXPECT_LT(figures.operations.float32, 2e12);
  EXPECT_TRUE(WiderIsFaster(figures))
      << figures.operations.float32 << ", " << figures.operations.float64;
  for (const double bytes : {figures.bytes.l1, figures.bytes.memory}) {
    EXPECT_GT(bytes, 1e8);
    EXPECT_LT(bytes, 1e13);
  }
  EXPECT_GT(figures.parallel_for, 1e-9);
  EXPECT_LT(figures.parallel_for, 0.1);
}

TEST(MeasureMachine, KeepsToTheBudget) {
  const double begin = ClockSeconds();
  const MachineFigures figures = MeasureMachine(0.5);
  // Allows for other tests that run at the same time.
  EXPECT_LT(ClockSeconds() - begin, 1);
  // Figures that it could not measure are derived.
  EXPECT_GT(figures.bytes_all_threads.memory, 0);
}

TEST(MeasureMachine, ABudgetWithoutSenseIsRefused) {
  for (const double budget : {0.0, -1.0, std::nan("")}) {
    ExpectError(ErrorCode::kInvalidArgument, "machine_figures.budget",
                {"expected a number above 0"},
                [budget] { MeasureMachine(budget); });
  }
}

}  // namespace
}  // namespace sluice::testing
