#include "sluice/operators/collective/data_parallel.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/operators/collective/twin_world.h"
#include "tests/testing/expect_error.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/framework/run/executor.h"
#include "sluice/platform/error.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;
using sluice::testing::TwinWorld;
using ::testing::ElementsAre;
using Values = std::vector<float>;

// mean(x a b c), with three parameters of one element.
class DataParallelTest : public ::testing::Test {
 protected:
  DataParallelTest() {
    program_.Data("x", DType::kFloat32, {-1, 1});
    std::string value = "x";
    for (const char* name : {"a", "b", "c"}) {
      program_.Persistable(name, DType::kFloat32, {1, 1});
      *executor_.scope().Var(name).GetMutable<Tensor>() =
          Tensor::FromVector<float>({1, 1}, {2});
      value = Append("mul", {{"X", {value}}, {"Y", {name}}});
    }
    loss_ = Append("mean", {{"X", {value}}});
  }
  std::string Append(const std::string& type,
                     Program::ArgList inputs,
                     AttributeMap attributes = {}) {
    return program_.AppendOp(type, std::move(inputs), std::move(attributes))
        .Output("Out")[0];
  }
  std::vector<int> SizesOfBuckets() const {
    std::vector<int> sizes;
    for (const OpDesc& op : program_.block().ops) {
      if (op.type != "c_allreduce_sum") continue;
      sizes.push_back(static_cast<int>(op.Input("X").size()));
    }
    return sizes;
  }
  Values Run(const Values& x, const std::string& fetch) {
    const auto rows = static_cast<int64_t>(x.size());
    return executor_
        .Run(program_, {{"x", Tensor::FromVector<float>({rows, 1}, x)}},
             {fetch})[0]
        .ToVector<float>();
  }

  Program program_;
  Executor executor_;
  std::string loss_;
};

TEST_F(DataParallelTest, WithOneRankNothingIsAdded) {
  Program same(program_);
  AppendBackward(same, loss_);
  const auto backward = AppendDataParallelBackward(program_, loss_);
  EXPECT_EQ(backward.loss, loss_);
  EXPECT_EQ(ToString(program_), ToString(same));
}

TEST_F(DataParallelTest, RanksCompareTheParametersThatTheyStartWith) {
  TwinWorld world;
  program_.Persistable("state", DType::kFloat32, {1});
  program_.AppendOp("scale", {{"X", {"state"}}}, {}, SourceLocation::Here(),
                    {{"Out", {"state"}}});
  AppendDataParallelBackward(program_, loss_, {{"a"}, {}});
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_TRUE(program_.FindVar(name).replicated) << name;
  }
  EXPECT_FALSE(program_.FindVar("state").replicated);
  EXPECT_FALSE(program_.FindVar("x").replicated);
}

TEST_F(DataParallelTest, RanksThatWereStartedMustBeJoined) {
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  ExpectError(ErrorCode::kFailedPrecondition, "world.not_joined",
              {"DataParallel: "},
              [&] { AppendDataParallelBackward(program_, loss_); });
  unsetenv("OMPI_COMM_WORLD_SIZE");
}

TEST_F(DataParallelTest, GradientsAreMeansInTheOrderInWhichTheyAreReady) {
  TwinWorld world;
  const auto backward =
      AppendDataParallelBackward(program_, loss_, {}, {.bucket_bytes = 8});
  ASSERT_EQ(backward.gradients.size(), 3u);
  EXPECT_EQ(backward.gradients[0].param, "c");
  EXPECT_EQ(backward.gradients[2].param, "a");
  EXPECT_THAT(SizesOfBuckets(), ElementsAre(2, 1, 1));  // and the loss
  EXPECT_EQ(Run({1, 2}, backward.gradients[0].grad), Values{6});
  EXPECT_EQ(Run({1, 2}, backward.loss), Values{12});
}

TEST_F(DataParallelTest, BucketsHaveTheBytesThatAreAskedFor) {
  TwinWorld world;
  AppendDataParallelBackward(program_, loss_, {}, {.bucket_bytes = 1});
  EXPECT_THAT(SizesOfBuckets(), ElementsAre(1, 1, 1, 1));
}

TEST_F(DataParallelTest, PartsGiveTheSameMeans) {
  for (const bool twins : {false, true}) {
    SCOPED_TRACE(twins);
    const auto world = twins ? std::make_unique<TwinWorld>() : nullptr;
    const Program before(program_);
    const auto backward =
        AppendDataParallelBackward(program_, loss_, {}, {.parts = 4});
    const Values x =
        twins ? Values{1, 2, 3, 4} : Values{1, 2, 3, 4, 1, 2, 3, 4};
    EXPECT_EQ(Run(x, backward.loss), Values{20});
    for (const ParamGrad& each : backward.gradients) {
      EXPECT_EQ(Run(x, each.grad), Values{10}) << each.param;
    }
    program_ = before;
  }
}

TEST_F(DataParallelTest, RefusesOptionsThatMakeNoSense) {
  TwinWorld world;
  const std::string before = ToString(program_);
  ExpectError(ErrorCode::kInvalidArgument, "data_parallel.bucket_bytes",
              {"bucket_bytes = 0", "1 or more"}, [&] {
                AppendDataParallelBackward(program_, loss_, {},
                                           {.bucket_bytes = 0});
              });
  for (const int parts : {-2, 1, 3, 6}) {
    ExpectError(ErrorCode::kInvalidArgument, "data_parallel.parts",
                {"power of 2", "2 ranks"}, [&] {
                  AppendDataParallelBackward(program_, loss_, {},
                                             {.parts = parts});
                });
  }
  EXPECT_EQ(ToString(program_), before);
}

TEST_F(DataParallelTest, RefusesPartsOfWhatIsOneWhole) {
  const std::string before = ToString(program_);
  const std::string dropped =
      Append("dropout", {{"X", {"x"}}}, {{"dropout_prob", 0.5}});
  const std::string loss = Append("mean", {{"X", {dropped}}});
  ExpectError(
      ErrorCode::kInvalidArgument, "batch_parts.op",
      {"dropout draws random numbers", "created at"}, [&] {
        AppendDataParallelBackward(
            program_,
            Append("mean",
                   {{"X", {Append("mul", {{"X", {dropped}}, {"Y", {"a"}}})}}}),
            {}, {.parts = 2});
      });
  Program fixed;
  fixed.Data("x", DType::kFloat32, {4, 1});
  fixed.Persistable("a", DType::kFloat32, {1, 1});
  const std::string product =
      fixed.AppendOp("mul", {{"X", {"x"}}, {"Y", {"a"}}}).Output("Out")[0];
  const std::string mean =
      fixed.AppendOp("mean", {{"X", {product}}}).Output("Out")[0];
  ExpectError(
      ErrorCode::kInvalidArgument, "batch_parts.data", {"open first dim", mean},
      [&] { AppendDataParallelBackward(fixed, mean, {}, {.parts = 2}); });
}

}  // namespace
}  // namespace sluice
