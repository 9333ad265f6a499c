#include <vector>

#include <gtest/gtest.h>

#include "sluice/sluice.h"

namespace sluice {
namespace {

// The rows that follow_adding_an_op.sh adds have builders.
TEST(NewRows, AreUsedFromPrograms) {
  Program program;
  const Var x = program.Data("x", DType::kFloat32, {-1});
  const Var logarithm = ops::Log2(x);
  const Var whole = ops::IsWhole(logarithm);
  const Var half = ops::HalfOf(logarithm, x);
  const Var unit = ops::SquareUnit(x);
  const Var sum = ops::ReduceLogCosh(logarithm, {.dim = {0}});
  const std::vector<Tensor> out =
      Executor(CPUPlace{})
          .Run(program, {{"x", Tensor::FromVector<float>({3}, {1, 2, 5})}},
               {logarithm, whole, half, sum, unit});
  EXPECT_FLOAT_EQ(out[0].ToVector<float>()[2], 2.3219281F);
  EXPECT_EQ(out[1].ToVector<bool>(), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(out[2].ToVector<bool>(), (std::vector<bool>{false, true, false}));
  EXPECT_NEAR(out[3].ToVector<float>()[0], 2.0721F, 1e-3);
  EXPECT_EQ(out[4].ToVector<float>(), (std::vector<float>{1, 4, 25}));
}

}  // namespace
}  // namespace sluice
