#include <gtest/gtest.h>

#include "sluice/framework/costs/machine_figures.h"
#include "sluice/operators/contraction/matmul.h"

namespace sluice {
namespace {

MatMulPlan Plan(int64_t m, int64_t k, int64_t n, bool transpose_y = false) {
  return PlanMatMul(MatMulResult::kOut, DDim({m, k}),
                    transpose_y ? DDim({n, k}) : DDim({k, n}), false,
                    transpose_y);
}

double Seconds(const MatMulPlan& plan, int threads = 1) {
  const KernelWork work = MatMulWork(plan, 4);
  constexpr auto kFloat = DType::kFloat32;
  return PredictSeconds(work, KernelCosts::Default().Of(work.costs, kFloat),
                        kFloat, DerivedFigures("AVX3", threads), threads);
}

TEST(MatMulWork, CountsEachProductOfWholeVectors) {
  const KernelWork work = ProductWork(Plan(10, 20, 33), 4, 16);
  EXPECT_DOUBLE_EQ(work.flops, 2.0 * 10 * 20 * 48);
  EXPECT_DOUBLE_EQ(work.bytes, 4.0 * (10 * 20 + 20 * 33 + 2 * 10 * 33));
}

TEST(MatMulWork, ATransposedMatrixIsPacked) {
  EXPECT_GT(Seconds(Plan(64, 100, 64, true)), Seconds(Plan(64, 100, 64)));
}

// A dot product ends with a sum over lanes, and with terms one by one.
TEST(MatMulWork, TermsBeyondWholeVectorsCostMoreThanVectors) {
  EXPECT_GT(Seconds(Plan(1, 127, 1000, true)),
            Seconds(Plan(1, 128, 1000, true)));
}

TEST(MatMulWork, SmallProductsHaveOneThread) {
  EXPECT_DOUBLE_EQ(Seconds(Plan(10, 10, 10), 2), Seconds(Plan(10, 10, 10), 1));
  EXPECT_LT(Seconds(Plan(500, 500, 500), 2),
            0.7 * Seconds(Plan(500, 500, 500), 1));
}

TEST(MatMulWork, NothingIsDoneForNothing) {
  EXPECT_EQ(MatMulWork(Plan(0, 10, 10), 4).flops, 0);
}

}  // namespace
}  // namespace sluice
