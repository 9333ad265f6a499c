#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/program/program.h"
#include "sluice/framework/run/executor.h"
#include "sluice/operators/reduction/reduction_row.h"

namespace sluice {
namespace {

using Ints = std::vector<int64_t>;

TEST(Reduction, TheDimensionsMayBeFed) {
  Program program;
  const auto x = program.Data("x", DType::kFloat32, {-1, 3});
  const auto dim = program.Data("dim", DType::kInt64, {-1});
  program.AppendOp("reduce_max", {{"X", {x.name()}}, {"Dim", {dim.name()}}},
                   {{"keep_dim", true}}, {}, {{"Out", {"out"}}});
  EXPECT_EQ(program.FindVar("out").dims, DDim({-1, -1}));
  Executor executor;
  const auto run = [&](const Ints& dims) {
    const DDim count({static_cast<int64_t>(dims.size())});
    return executor.Run(
        program,
        {{"x", Tensor::FromVector<float>({2, 3}, {1, 5, 2, 4, 3, 6})},
         {"dim", Tensor::FromVector<int64_t>(count, dims)}},
        {"out"})[0];
  };
  EXPECT_EQ(run({0}).ToVector<float>(), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(run({-1}).dims(), DDim({2, 1}));
  EXPECT_EQ(run({}).ToVector<float>(), std::vector<float>{6});
}

// A new row is sufficient for a complete op.
TEST(Reduction, EveryRowIsAnOpThatSaysWhatItIsElsewhere) {
  const auto& registry = Registry::Global();
  std::set<std::string> names;
  for (const ReductionInfo& info : Reductions()) {
    SCOPED_TRACE(info.name);
    EXPECT_TRUE(names.insert(info.name).second);
    const OpSchema& schema = registry.Schema(info.name);
    EXPECT_EQ(schema.doc(), info.doc);
    EXPECT_EQ(schema.onnx().op_type, info.onnx);
    EXPECT_EQ(schema.torch(), info.torch);
    EXPECT_EQ(schema.gradient_fn() != nullptr,
              info.gradient != ReductionGradient::kNone);
  }
}

}  // namespace
}  // namespace sluice
