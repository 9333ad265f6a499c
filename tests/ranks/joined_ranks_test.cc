// Several ranks, which mpirun starts, run this program: all run the same tests.
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/program/backward.h"
#include "sluice/framework/run/executor.h"
#include "sluice/operators/collective/data_parallel.h"
#include "sluice/platform/error.h"
#include "sluice/platform/ranks/world.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;

constexpr int64_t kBatch = 8;
constexpr int64_t kInputs = 33;
constexpr int64_t kHidden = 70;
constexpr int64_t kClasses = 5;
constexpr int kSteps = 50;

// Numbers without a pattern, between -1 and 1.
std::vector<float> Numbers(int64_t count, int seed) {
  std::vector<float> numbers;
  for (int64_t i = 0; i < count; ++i) {
    numbers.push_back(
        static_cast<float>(std::sin(12.9898 * double(i + 1) + seed)));
  }
  return numbers;
}

std::string Append(Program& program,
                   const std::string& type,
                   Program::ArgList inputs,
                   const std::string& output = "Out") {
  return program.AppendOp(type, std::move(inputs)).Output(output)[0];
}

// A classifier with a hidden layer, trained by gradient descent.
class Training {
 public:
  Training() {
    program_.Data("x", DType::kFloat32, {-1, kInputs});
    program_.Data("label", DType::kInt64, {-1, 1});
    AddParameter("w0", {kInputs, kHidden}, 1);
    AddParameter("w1", {kHidden, kClasses}, 2);
    const std::string product =
        Append(program_, "mul", {{"X", {"x"}}, {"Y", {"w0"}}});
    const std::string hidden = Append(program_, "tanh", {{"X", {product}}});
    const std::string logits =
        Append(program_, "mul", {{"X", {hidden}}, {"Y", {"w1"}}});
    loss_ = Append(
        program_, "mean",
        {{"X",
          {Append(program_, "softmax_with_cross_entropy",
                  {{"Logits", {logits}}, {"Label", {"label"}}}, "Loss")}}});
  }

  void Alone() { Descend(AppendBackward(program_, loss_)); }
  void OnAllRanks(const DataParallelOptions& options) {
    auto backward = AppendDataParallelBackward(program_, loss_, {}, options);
    loss_ = backward.loss;
    Descend(backward.gradients);
  }

  // The losses of each step. One of several ranks uses its share of the rows.
  std::vector<float> Losses(int rank, int ranks) {
    const int64_t rows = kBatch / ranks;
    const auto all = Numbers(kBatch * kInputs, 3);
    const Tensor x = Tensor::FromVector<float>(
        {rows, kInputs}, {all.begin() + rank * rows * kInputs,
                          all.begin() + (rank + 1) * rows * kInputs});
    std::vector<int64_t> labels;
    for (int64_t row = rank * rows; row < (rank + 1) * rows; ++row) {
      labels.push_back(row * 3 % kClasses);
    }
    const auto label = Tensor::FromVector<int64_t>({rows, 1}, labels);
    std::vector<float> losses;
    for (int step = 0; step < kSteps; ++step) {
      losses.push_back(
          executor_.Run(program_, {{"x", x}, {"label", label}}, {loss_})[0]
              .ToVector<float>()[0]);
    }
    return losses;
  }

 private:
  void AddParameter(const std::string& name, DDim dims, int seed) {
    program_.Persistable(name, DType::kFloat32, dims);
    *executor_.scope().Var(name).GetMutable<Tensor>() =
        Tensor::FromVector<float>(dims, Numbers(dims.numel(), seed));
  }

  void Descend(const std::vector<ParamGrad>& gradients) {
    AttributeMap half = {{"shape", std::vector<int64_t>{1}}, {"value", 0.5}};
    const std::string rate =
        program_.AppendOp("fill_constant", {}, std::move(half))
            .Output("Out")[0];
    for (const auto& each : gradients) {
      program_.AppendOp("sgd", {{"Param", {each.param}},
                                {"Grad", {each.grad}},
                                {"LearningRate", {rate}}});
    }
  }

  Program program_;
  Executor executor_;
  std::string loss_;
};

class JoinedRanksTest : public ::testing::Test {
 protected:
  JoinedRanksTest() : world_(World::Join()) {}
  World& world_;
};

TEST_F(JoinedRanksTest, AreSeveral) {
  EXPECT_GT(world_.size(), 1);
  EXPECT_LT(world_.rank(), world_.size());
}

TEST_F(JoinedRanksTest, TrainAsOneProcessDoes) {
  Training alone;
  alone.Alone();
  const std::vector<float> expected = alone.Losses(0, 1);
  EXPECT_LT(expected.back(), 0.5 * expected.front());
  // One bucket for each parameter; one for all; parts in their own order.
  const DataParallelOptions all_options[] = {
      {.bucket_bytes = 1}, {}, {.parts = 4}};
  for (const DataParallelOptions& options : all_options) {
    Training together;
    together.OnAllRanks(options);
    const auto losses = together.Losses(world_.rank(), world_.size());
    for (int step = 0; step < kSteps; ++step) {
      EXPECT_NEAR(losses[step], expected[step], 1e-6 * expected.front())
          << "step " << step;
    }
  }
}

TEST_F(JoinedRanksTest, HaveTheSumOfEveryBucket) {
  for (const int64_t size : {int64_t{1}, int64_t{0}, int64_t{100'003}}) {
    Program program;
    program.Data("x", DType::kFloat32, {-1});
    const auto sums =
        program
            .AppendOp("c_allreduce_sum",
                      {{"X",
                        {Append(program, "square", {{"X", {"x"}}}), "x",
                         Append(program, "abs", {{"X", {"x"}}})}}})
            .Output("Out");
    const std::vector<float> own(static_cast<size_t>(size),
                                 static_cast<float>(-2 - world_.rank()));
    float sum = 0;
    float squares = 0;
    for (int rank = 0; rank < world_.size(); ++rank) {
      sum += float(2 + rank);
      squares += float(2 + rank) * float(2 + rank);
    }
    const auto results =
        Executor().Run(program, {{"x", Tensor::FromVector<float>({size}, own)}},
                       {sums[0], sums[1], sums[2]});
    const float expected[] = {squares, -sum, sum};
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(results[i].ToVector<float>(),
                std::vector<float>(static_cast<size_t>(size), expected[i]));
    }
  }
}

// The last test of the ranks: they cannot recover, and end with an error.
TEST_F(JoinedRanksTest, DISABLED_DoNotRunDifferentPrograms) {
  Program program;
  program.Data("x", DType::kFloat32, {2});
  std::string x = "x";
  if (world_.rank() == 1) x = Append(program, "relu", {{"X", {x}}});
  const std::string sum = Append(program, "c_allreduce_sum", {{"X", {x}}});
  const auto feed = Tensor::FromVector<float>({2}, {1, 2});
  ExpectError(ErrorCode::kFailedPrecondition, "world.disagree",
              {"rank 1: op 0: ", "= relu(X=x)", "joined_ranks_test.cc:"}, [&] {
                Executor().Run(program, {{"x", feed}}, {sum});
              });
  if (!HasFailure()) std::cout << "rank " << world_.rank() << ": refused\n";
}

}  // namespace
}  // namespace sluice
