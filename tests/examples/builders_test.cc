// The generated builders of sluice/ops.h.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/sluice.h"

namespace sluice {
namespace {

using testing::ExpectError;
using Floats = std::vector<float>;

std::vector<Tensor> Fetched(const Program& program, const Fetches& fetches) {
  return Executor().Run(program, {}, fetches);
}

TEST(BuildersTest, OpsWithoutInputsTakeTheProgram) {
  Program program;
  const Var twos = ops::FillConstant(program, {2, 3}, {.value = 2.0});
  const Var whole =
      ops::FillConstant(program, {1}, {.dtype = DType::kInt64, .value = -7.0});
  const Var given =
      ops::AssignValue(program, {3}, {1, 2, 3}, {.dtype = DType::kFloat32});
  const Var sum = ops::ElementwiseAdd(twos, given);
  const auto results = Fetched(program, {sum, whole});
  EXPECT_EQ(results[0].ToVector<float>(), (Floats{3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(results[1].ToVector<int64_t>(), std::vector<int64_t>{-7});
}

TEST(BuildersTest, RandomOpsTakeTheProgram) {
  Program program;
  const Var uniform =
      ops::UniformRandom(program, {1001}, {.min = 2.0, .max = 3.0, .seed = 1});
  const Var gaussian = ops::GaussianRandom(
      program, {1001}, {.mean = 5.0, .std = 0.0, .seed = 1});
  const Var none = ops::UniformRandom(program, {0});
  const auto results = Fetched(program, {uniform, gaussian, none});
  const Floats values = results[0].ToVector<float>();
  EXPECT_TRUE(std::all_of(values.begin(), values.end(),
                          [](float x) { return x >= 2 && x < 3; }));
  EXPECT_NE(values.front(), values.back());
  EXPECT_EQ(results[1].ToVector<float>(), Floats(1001, 5));
  EXPECT_EQ(results[2].numel(), 0);
}

TEST(BuildersTest, ErrorsNameTheLineThatCalledThem) {
  Program program;
  ExpectError(ErrorCode::kInvalidArgument, "fill_constant.value",
              {"fill_constant", "builders_test.cc"}, [&] {
                ops::FillConstant(program, {2},
                                  {.dtype = DType::kBool, .value = 2.0});
              });
  EXPECT_TRUE(program.block().ops.empty());
}

}  // namespace
}  // namespace sluice
