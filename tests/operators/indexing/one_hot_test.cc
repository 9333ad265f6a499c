#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/run/executor.h"
#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using Floats = std::vector<float>;

const Tensor kValues = Tensor::FromVector<float>({2}, {-1, 7});

TEST(OneHot, TakesItsDepthFromAFeed) {
  Program program;
  program.Data("x", DType::kInt64, {1});
  program.Data("values", DType::kFloat32, {2});
  program.Data("depth", DType::kInt64, {1});
  OpDesc op;
  op.type = "one_hot";
  op.inputs = {{"X", {"x"}}, {"Values", {"values"}}, {"Depth", {"depth"}}};
  const std::string out = program.AppendOp(op).Output("Out")[0];
  EXPECT_EQ(program.block().FindVar(out)->dims, DDim({1, -1}));
  Executor executor;
  for (const int64_t depth : {2, 4}) {
    const Feeds feeds = {{"x", Tensor::FromVector<int64_t>({1}, {1})},
                         {"values", kValues},
                         {"depth", Tensor::FromVector<int64_t>({1}, {depth})}};
    Floats want(static_cast<size_t>(depth), -1);
    want[1] = 7;
    EXPECT_EQ(executor.Run(program, feeds, {out})[0].ToVector<float>(), want);
  }
}

TEST(OneHot, CountsNegativeIndicesFromTheEndAndLeavesOthersOff) {
  const Tensor x = Tensor::FromVector<int64_t>({5}, {2, -1, 3, -4, -3});
  for (const int64_t axis : {-1, 0}) {
    const Tensor out = RunOp("one_hot", {{"X", x}, {"Values", kValues}},
                             {{"depth", int64_t{3}}, {"axis", axis}})["Out"];
    const Floats rows = {-1, -1, 7,  -1, -1, 7,  -1, -1,
                         -1, -1, -1, -1, 7,  -1, -1};
    Floats want = rows;
    for (int64_t i = 0; axis == 0 && i < 15; ++i) {
      want[i] = rows[i % 5 * 3 + i / 5];
    }
    EXPECT_EQ(out.ToVector<float>(), want) << axis;
  }
}

}  // namespace
}  // namespace sluice
