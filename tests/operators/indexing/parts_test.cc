#include "sluice/operators/indexing/parts.h"

#include <cstdint>
#include <vector>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/program/backward.h"
#include "sluice/framework/run/executor.h"
#include "sluice/ops.h"

namespace sluice {
namespace {

using ::sluice::testing::ExpectError;
using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

struct Matrix {
  Program program;
  Var x = program.Data("x", DType::kFloat32, {2, 3});
  Feeds feeds = {{"x", Tensor::FromVector<float>({2, 3}, {1, 2, 3, 4, 5, 6})}};

  Floats Values(const Var& var) {
    return Executor().Run(program, feeds, {var})[0].ToVector<float>();
  }
};

TEST(Parts, AreCutAndStackedAgain) {
  Matrix m;
  const auto equal = Split(m.x, 3);
  ASSERT_EQ(equal.size(), 3U);
  EXPECT_EQ(equal[1].dims(), DDim({2, 1}));
  EXPECT_EQ(m.Values(equal[2]), (Floats{3, 6}));
  const auto parts = Split(m.x, Ints{0, 2, 1}, 1);
  EXPECT_EQ(m.Values(parts[0]), Floats());
  EXPECT_EQ(m.Values(parts[1]), (Floats{1, 2, 4, 5}));
  const auto rows = Unstack(m.x);
  EXPECT_EQ(rows[1].dims(), DDim({3}));
  EXPECT_EQ(m.Values(Stack({rows[1], rows[0]}, -1)),
            (Floats{4, 1, 5, 2, 6, 3}));
}

TEST(Parts, PassGradients) {
  Matrix m;
  m.program.SetStopGradient("x", false);
  const auto rows = Unstack(m.x);
  const Var loss = ops::ReduceSum(ops::ElementwiseMul(rows[0], rows[1]));
  AppendBackward(loss, {.parameters = {"x"}});
  EXPECT_EQ(m.Values(m.program.Find("x@GRAD")), (Floats{4, 5, 6, 1, 2, 3}));
}

TEST(Parts, MustFit) {
  Matrix m, other;
  const Var unknown = m.program.Data("y", DType::kFloat32, {-1});
  const auto refuse = [](const char* check_id,
                         std::initializer_list<std::string_view> words,
                         FunctionRef<void()> call) {
    ExpectError(ErrorCode::kInvalidArgument, check_id, words, call);
  };
  refuse("parts.axis", {"split", "2 is no dim of x", "parts_test.cc"},
         [&] { Split(m.x, 1, 2); });
  refuse("parts.section", {"a part of 4", "[2, 3]"}, [&] {
    Split(m.x, Ints{4, -1});
  });
  refuse("parts.left", {"leave 1 elements"}, [&] { Split(m.x, Ints{2}); });
  refuse("parts.equal", {"into 2 equal parts"}, [&] { Split(m.x, 2); });
  refuse("parts.unknown", {"unstack: dim 0 of y"}, [&] { Unstack(unknown); });
  refuse("parts.none", {"stack", "got none"}, [] { Stack({}); });
  refuse("parts.program", {"stack: x belongs to another"}, [&] {
    Stack({m.x, other.x});
  });
}

}  // namespace
}  // namespace sluice
