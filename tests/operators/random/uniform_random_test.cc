#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/run/executor.h"
#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using Ints = std::vector<int64_t>;

std::vector<float> Draw(AttributeMap attributes) {
  attributes["shape"] = Ints{8};
  return RunOp("uniform_random", {}, attributes)["Out"].ToVector<float>();
}

TEST(UniformRandom, DependsOnTheSeedAlone) {
  EXPECT_EQ(Draw({{"seed", int64_t{3}}}), Draw({{"seed", int64_t{3}}}));
  EXPECT_NE(Draw({{"seed", int64_t{3}}}), Draw({{"seed", int64_t{4}}}));
}

TEST(UniformRandom, TakesItsShapeAsAVector) {
  const auto out = RunOp("uniform_random",
                         {{"Shape", Tensor::FromVector<int64_t>({2}, {2, 4})}});
  EXPECT_EQ(out.at("Out").dims(), DDim({2, 4}));
  EXPECT_EQ(out.at("Out").ToVector<float>(), Draw({}));
}

// Two ops of one program, and two runs in a scope, draw different numbers; a
// scope reset to a step draws the same ones again.
TEST(UniformRandom, EveryOpAndEveryRunDrawsOtherNumbers) {
  Program program;
  for (const char* name : {"a", "b"}) {
    OpDesc op;
    op.type = "uniform_random";
    op.attributes = {{"shape", Ints{8}}};
    op.outputs = {{"Out", {name}}};
    program.AppendOp(op);
  }
  Executor executor;
  Scope scope;
  const auto run = [&] {
    std::vector<std::vector<float>> values;
    for (const auto& tensor : executor.Run(program, {}, {"a", "b"}, &scope)) {
      values.push_back(tensor.ToVector<float>());
    }
    return values;
  };
  const auto first = run(), second = run();
  EXPECT_NE(first[0], first[1]);
  EXPECT_NE(first[0], second[0]);
  EXPECT_NE(first[1], second[0]);
  scope.set_step(0);
  EXPECT_EQ(run(), first);
}

}  // namespace
}  // namespace sluice
