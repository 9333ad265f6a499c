#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/program/program.h"
#include "sluice/framework/run/executor.h"

namespace sluice {
namespace {

struct Picking {
  std::string op, from, index;
  DDim dims;  // of the index
};

class PickingWorkTest : public ::testing::TestWithParam<Picking> {};

// Two rows of a large table are read, written, and found by their numbers.
TEST_P(PickingWorkTest, CountsOnlyWhatIsPicked) {
  Program program;
  const DDim table({100000, 8});
  program.Data("x", DType::kFloat32, table);
  program.Data("index", DType::kInt64, GetParam().dims);
  const auto& op = program.AppendOp(
      GetParam().op, {{GetParam().from, {"x"}}, {GetParam().index, {"index"}}});
  const auto x = Tensor::FromVector<float>(
      table, std::vector<float>(static_cast<size_t>(table.numel())));
  const auto index = Tensor::FromVector<int64_t>(
      GetParam().dims,
      std::vector<int64_t>(static_cast<size_t>(GetParam().dims.numel())));
  const auto plan = Executor().Prepare(program, {{"x", x}, {"index", index}},
                                       {op.outputs[0].second[0]});
  const KernelWork& work = plan->decisions()[0].candidates()[0].work;
  EXPECT_EQ(work.bytes, 2.0 * 8 * 4 * 2 + static_cast<double>(index.bytes()));
}

INSTANTIATE_TEST_SUITE_P(
    All,
    PickingWorkTest,
    ::testing::Values(Picking{"gather", "X", "Index", {2}},
                      Picking{"gather_nd", "X", "Index", {2, 1}},
                      Picking{"gather_elements", "X", "Index", {2, 8}},
                      Picking{"lookup_table", "W", "Ids", {2, 1}}),
    [](const auto& info) { return info.param.op; });

}  // namespace
}  // namespace sluice
