// Gradients through blocks, from C++;
// tests/python/formulas/test_block_gradients.py has the cases.
#include <string>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/program/backward.h"
#include "sluice/framework/program/control_flow.h"
#include "sluice/framework/run/executor.h"
#include "sluice/ops.h"

namespace sluice {
namespace {

using ::sluice::testing::ExpectError;

// A loss of parameters a and b, of one element each.
class BlockGradientsTest : public ::testing::Test {
 protected:
  BlockGradientsTest()
      : a_(program_.Persistable("a", DType::kFloat64, {1})),
        b_(program_.Persistable("b", DType::kFloat64, {1})) {
    Set("a", 0.7);
    Set("b", -0.4);
  }

  void Set(const std::string& name, double value) {
    *scope_.Var(name).GetMutable<Tensor>() =
        Tensor::FromVector<double>({1}, {value});
  }
  double Run(const Program& program, const std::string& fetch) {
    return Executor(CPUPlace())
        .Run(program, {}, {fetch}, &scope_)[0]
        .data<double>()[0];
  }
  Var Number(double value) {
    return ops::FillConstant(program_, {1},
                             {.dtype = DType::kFloat64, .value = value});
  }

  // Compares the gradients of `loss` with differences.
  void Check(const Var& loss) {
    const Program forward = program_;
    for (const ParamGrad& pair : AppendBackward(loss)) {
      const double at = pair.param == "a" ? 0.7 : -0.4;
      const double gradient = Run(program_, pair.grad);
      Set(pair.param, at + 1e-6);
      const double above = Run(forward, loss.name());
      Set(pair.param, at - 1e-6);
      const double below = Run(forward, loss.name());
      Set(pair.param, at);
      EXPECT_NEAR(gradient, (above - below) / 2e-6, 1e-7) << pair.param;
      EXPECT_NE(gradient, 0) << pair.param;
    }
  }

  Program program_;
  Scope scope_;
  Var a_;
  Var b_;
};

TEST_F(BlockGradientsTest, OfAScan) {
  const Var x =
      ops::AssignValue(program_, {3, 1}, {1, 2, 3}, {.dtype = DType::kFloat64});
  const ScanResult result = Scan(
      [&](const Vars& carried, const Vars& elements) {
        const Var next = ops::Tanh(ops::ElementwiseAdd(
            ops::ElementwiseMul(carried[0], b_), elements[0]));
        return ScanStep{{next}, {next}};
      },
      {a_}, {x});
  Check(ops::ReduceSum(ops::Square(result.stacked[0])));
}

TEST_F(BlockGradientsTest, OfALoopAndACondition) {
  const Vars out = WhileLoop(
      [&](const Vars& vars) { return ops::LessThan(vars[0], Number(9)); },
      [&](const Vars& vars) {
        return Cond(
            ops::LessThan(vars[0], Number(2)),
            [&] { return Vars{ops::Exp(vars[0])}; },
            [&] {
              return Vars{ops::ElementwiseSub(
                  vars[0], ops::ElementwiseMul(b_, ops::Square(vars[0])))};
            });
      },
      {a_}, {.max_trips = 9});
  Check(ops::ReduceSum(out[0]));
}

TEST_F(BlockGradientsTest, TestProgramsKeepNothing) {
  const Vars out = WhileLoop(
      [&](const Vars& vars) { return ops::LessThan(vars[0], Number(9)); },
      [&](const Vars& vars) { return Vars{ops::Exp(vars[0])}; }, {a_},
      {.max_trips = 9});
  const Var loss = ops::ReduceSum(out[0]);
  AppendBackward(loss);
  EXPECT_EQ(program_.block().ops[2].Output("Stacked").size(), 1U);
  const Program test = program_.CloneForTest();
  EXPECT_TRUE(test.block().ops[2].Output("Stacked").empty());
  EXPECT_EQ(Run(test, loss.name()), Run(program_, loss.name()));
}

TEST_F(BlockGradientsTest, ALoopWithoutABoundHasNone) {
  const Vars out = WhileLoop(
      [&](const Vars& vars) { return ops::LessThan(vars[0], Number(9)); },
      [&](const Vars& vars) { return Vars{ops::Exp(vars[0])}; }, {a_});
  ExpectError(ErrorCode::kInvalidArgument, "backward.unbounded_loop",
              {"loop", "max_trips", __FILE__},
              [&] { AppendBackward(ops::ReduceSum(out[0])); });
}

TEST_F(BlockGradientsTest, MoreTripsThanTheBoundAreAnError) {
  const Vars out = WhileLoop(
      [&](const Vars& vars) { return ops::LessThan(vars[0], Number(9)); },
      [&](const Vars& vars) { return Vars{ops::Exp(vars[0])}; }, {a_},
      {.max_trips = 2});
  ExpectError(ErrorCode::kResourceExhausted, "loop.max_trips",
              {"loop", "2 iterations", "max_trips = 2"},
              [&] { Run(program_, out[0].name()); });
}

}  // namespace
}  // namespace sluice
