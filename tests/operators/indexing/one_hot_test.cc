#include <limits>
#include <vector>

#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/executor.h"
#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using Floats = std::vector<float>;

const Tensor kValues = Tensor::FromVector<float>({2}, {-1, 7});

Tensor OneHot(const Tensor& x, int64_t depth, int64_t axis = -1) {
  return RunOp("one_hot", {{"X", x}, {"Values", kValues}},
               {{"depth", depth}, {"axis", axis}})["Out"];
}

TEST(OneHot, CountsFromTheEndAndLeavesOutWhatIsOutside) {
  const Tensor x = Tensor::FromVector<int64_t>(
      {4}, {-1, -4, 3, std::numeric_limits<int64_t>::min()});
  EXPECT_EQ(OneHot(x, 3).ToVector<float>(),
            (Floats{-1, -1, 7, -1, -1, -1, -1, -1, -1, -1, -1, -1}));
}

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

}  // namespace
}  // namespace sluice

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

std::vector<OpExample> Examples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  const auto add = [&](const DDim& x, int64_t depth, int64_t axis) {
    const DType dtype =
        examples.size() % 2 == 0 ? DType::kInt64 : DType::kInt32;
    examples.push_back({{{"X", make.Integers(dtype, x, -depth - 1, depth + 1)},
                         {"Values", make.Values({2})}},
                        {{"depth", depth}, {"axis", axis}}});
  };
  add({7}, 5, -1);
  add({3, 5}, 4, 0);
  add({3, 5}, 4, -2);
  add({}, 3, 0);
  add({1, 1}, 1, -1);
  add({0, 3}, 4, 1);
  add({4}, 0, -1);
  add({301, 7}, 37, 1);
  return examples;
}

Arrays Reference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  const auto depth = GetAttr<int64_t>(op, "depth");
  auto axis = GetAttr<int64_t>(op, "axis");
  if (axis < 0) axis += x.dims.rank() + 1;
  DDim dims = x.dims;
  dims.InsertDim(static_cast<int>(axis), depth);
  Array out(dims);
  for (size_t i = 0; i < out.values.size(); ++i) {
    std::vector<int64_t> index = out.IndexOf(static_cast<int64_t>(i));
    const int64_t place = index[static_cast<size_t>(axis)];
    index.erase(index.begin() + axis);
    auto wanted = static_cast<int64_t>(x.values[x.Offset(index)]);
    if (wanted < 0) wanted += depth;
    out.values[i] = in.at("Values").values[wanted == place ? 1 : 0];
  }
  return {{"Out", out}};
}

REGISTER_OP_CASE(one_hot, Examples, Reference);

}  // namespace
}  // namespace sluice::testing
