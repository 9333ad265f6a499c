#include <cstdio>
#include <string>
#include <vector>

#include "tests/testing/expect_error.h"
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "sluice/nn.h"
#include "sluice/sluice.h"

namespace sluice {
namespace {

using testing::ExpectError;

// Standard error is a terminal meanwhile, whose text is returned.
class Terminal {
 public:
  // A chroot may have no pseudo-terminals.
  static bool IsAvailable() {
    const int main = posix_openpt(O_RDWR | O_NOCTTY);
    if (main < 0) return false;
    const bool is_open = grantpt(main) == 0 && unlockpt(main) == 0;
    const int side = is_open ? open(ptsname(main), O_RDWR | O_NOCTTY) : -1;
    if (side >= 0) close(side);
    close(main);
    return side >= 0;
  }
  Terminal() : kept_(dup(STDERR_FILENO)), main_(posix_openpt(O_RDWR)) {
    grantpt(main_);
    unlockpt(main_);
    const int side = open(ptsname(main_), O_RDWR | O_NOCTTY);
    dup2(side, STDERR_FILENO);
    close(side);
  }
  std::string Finish() {
    constexpr char kEnd = '\1';
    std::fputc(kEnd, stderr);
    std::fflush(stderr);
    std::string text;
    while (!text.ends_with(kEnd)) {
      char more = kEnd;
      if (read(main_, &more, 1) != 1) more = kEnd;
      text += more;
    }
    dup2(kept_, STDERR_FILENO);
    close(kept_);
    close(main_);
    text.pop_back();
    return text;
  }

 private:
  int kept_;
  int main_;
};

class TrainTest : public ::testing::Test {
 protected:
  // A line through 20 points: y = 2 x - 1.
  void SetUp() override {
    std::vector<float> x;
    std::vector<float> y;
    for (int i = 0; i < 20; ++i) {
      x.push_back(static_cast<float>(i) / 10);
      y.push_back(2 * x.back() - 1);
    }
    data_ = nn::TensorDataset({{"x", Tensor::FromVector<float>({20, 1}, x)},
                               {"y", Tensor::FromVector<float>({20, 1}, y)}});
    const Var in = program_.Data("x", DType::kFloat32, {-1, 1});
    const Var out = program_.Data("y", DType::kFloat32, {-1, 1});
    nn::Startup startup;
    loss_ = ops::Mean(ops::Square(
        ops::ElementwiseSub(nn::Fc(in, 1, {.weight = {.name = "w"}}), out)));
    nn::Sgd(0.1).Minimize(loss_);
    executor_.Run(startup, {}, {}, &scope_);
  }

  Program program_;
  Var loss_;
  Scope scope_;
  Executor executor_;
  nn::TensorDataset data_{{{"x", Tensor::FromVector<float>({1}, {0})}}};
};

TEST_F(TrainTest, ALineIsFound) {
  int batches = 0;
  const nn::Progress end = nn::Train(executor_, loss_, data_, &scope_,
                                     {.epochs = 60,
                                      .batches = {.batch_size = 6},
                                      .after_batch = [&](const auto& at) {
                                        EXPECT_EQ(at.epoch, batches / 4 + 1);
                                        EXPECT_EQ(at.batch, batches % 4 + 1);
                                        ++batches;
                                        return true;
                                      }});
  EXPECT_EQ(batches, 240);
  EXPECT_LT(end.loss, 1e-3);
  EXPECT_GT(end.rows_per_second, 0);
  EXPECT_NEAR(scope_.FindVar("w")->Get<Tensor>()->data<float>()[0], 2, 0.05);
}

TEST_F(TrainTest, TheLossIsTheMeanOfTheEpoch) {
  std::vector<float> losses;
  const auto rate =
      scope_.FindVar("sgd_0.learning_rate_0")->GetMutable<Tensor>();
  *rate = Tensor::FromVector<float>({1}, {0});
  const nn::BatchOptions batches = {.batch_size = 10, .seed = 4};
  const nn::Progress end = nn::Train(executor_, loss_, data_, &scope_,
                                     {.epochs = 2, .batches = batches});
  double sum = 0;
  const nn::Batches last(data_, batches, 1);
  for (int64_t i = 0; i < last.size(); ++i) {
    sum +=
        executor_.Run(program_, last[i], {loss_}, &scope_)[0].data<float>()[0];
  }
  EXPECT_DOUBLE_EQ(end.loss, sum / 2);
}

TEST_F(TrainTest, ACallMayEndIt) {
  const nn::Progress end = nn::Train(
      executor_, loss_, data_, &scope_,
      {.epochs = 9,
       .after_batch = [](const nn::Progress& at) { return at.epoch < 3; }});
  EXPECT_EQ(end.epoch, 3);
}

TEST_F(TrainTest, ATerminalShowsOneLine) {
  if (!Terminal::IsAvailable()) GTEST_SKIP() << "no pseudo-terminals here";
  Terminal terminal;
  nn::Train(executor_, loss_, data_, &scope_, {.epochs = 2});
  const std::string text = terminal.Finish();
  EXPECT_NE(text.find("\r\x1b[Kepoch 1 of 2: loss "), std::string::npos);
  EXPECT_NE(text.find("\r\x1b[Kepoch 2 of 2: loss "), std::string::npos);
  EXPECT_EQ(text.find('\n'), text.size() - 1) << text;
  Terminal silent;
  nn::Train(executor_, loss_, data_, &scope_, {.progress = false});
  EXPECT_EQ(silent.Finish(), "");
}

TEST_F(TrainTest, AFailureStartsANewLine) {
  if (!Terminal::IsAvailable()) GTEST_SKIP() << "no pseudo-terminals here";
  Terminal terminal;
  EXPECT_THROW(nn::Train(executor_, loss_, data_, &scope_,
                         {.epochs = 2,
                          .after_batch = [](const auto&) -> bool {
                            throw std::runtime_error("stop");
                          }}),
               std::runtime_error);
  EXPECT_TRUE(terminal.Finish().ends_with("s\r\n"));
}

TEST_F(TrainTest, AFileShowsNothing) {
  ::testing::internal::CaptureStderr();
  nn::Train(executor_, loss_, data_, &scope_);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(TrainTest, RefusesWhatTrainsNothing) {
  ExpectError(ErrorCode::kInvalidArgument, "nn.epochs", {"got 0"}, [&] {
    nn::Train(executor_, loss_, data_, &scope_, {.epochs = 0});
  });
  ExpectError(ErrorCode::kInvalidArgument, "nn.no_batches",
              {"20 rows has no batch of 21"}, [&] {
                nn::Train(executor_, loss_, data_, &scope_,
                          {.batches = {.batch_size = 21, .drop_last = true}});
              });
}

TEST(ProgressTest, IsALine) {
  EXPECT_EQ(ToString(nn::Progress{.epoch = 3,
                                  .epochs = 18,
                                  .batch = 8,
                                  .batches = 20,
                                  .loss = 0.21345,
                                  .rows_per_second = 12345.6}),
            "epoch 3 of 18, 40 %: loss 0.213, 12346 rows/s");
  EXPECT_EQ(ToString(nn::Progress{.epoch = 1,
                                  .epochs = 1,
                                  .batch = 2,
                                  .batches = 2,
                                  .loss = 1e-7,
                                  .rows_per_second = 3}),
            "epoch 1 of 1: loss 1e-07, 3 rows/s");
}

// The label is whether the first of eight numbers is positive.
TEST(LstmTest, StackedLayersRememberTheFirstStep) {
  constexpr int64_t kRows = 64;
  const Tensor x = [] {
    Program program;
    const Var values = ops::GaussianRandom(program, {kRows, 8, 1}, {.seed = 3});
    return Executor().Run(program, {}, {values})[0];
  }();
  std::vector<int64_t> labels;
  for (int64_t row = 0; row < kRows; ++row) {
    labels.push_back(x.data<float>()[row * 8] > 0 ? 1 : 0);
  }
  Program program;
  nn::Startup startup;
  const Var in = program.Data("x", DType::kFloat32, {-1, 8, 1});
  const Var label = program.Data("label", DType::kInt64, {-1, 1});
  const auto lstm =
      nn::Lstm(in, 8,
               {.num_layers = 2,
                .time_major = false,
                .weights = {.initializer = nn::Uniform(-0.35, 0.35, 5)}});
  const Var last = ops::Slice(lstm.last_h, {1}, {2}, {.axes = {0}});
  const Var logits = nn::Fc(ops::Reshape(last, {-1, 8}), 2);
  const Var loss = ops::Mean(ops::SoftmaxWithCrossEntropy(logits, label).loss);
  nn::Adam({.learning_rate = 0.03}).Minimize(loss);
  Scope scope;
  Executor executor;
  executor.Run(startup, {}, {}, &scope);
  const nn::TensorDataset data(
      {{"x", x}, {"label", Tensor::FromVector<int64_t>({kRows, 1}, labels)}});
  EXPECT_LT(nn::Train(executor, loss, data, &scope,
                      {.epochs = 120, .batches = {.batch_size = 64}})
                .loss,
            0.1);
}

}  // namespace
}  // namespace sluice
