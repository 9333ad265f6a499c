#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "tests/nn/expect_refused.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/nn.h"
#include "sluice/sluice.h"

namespace sluice {
namespace {

using testing::ExpectError;
using Doubles = std::vector<double>;

class SequenceScanTest : public ::testing::Test {
 protected:
  // Sequences of these lengths, whose elements count from 1.
  static std::vector<Tensor> Counting(const std::vector<int64_t>& lengths) {
    std::vector<Tensor> sequences;
    double next = 1;
    for (const int64_t length : lengths) {
      Doubles values(static_cast<size_t>(length) * 2);
      for (double& value : values) {
        value = next++;
      }
      sequences.push_back(Tensor::FromVector<double>({length, 2}, values));
    }
    return sequences;
  }

  Program program_;
  nn::Startup startup_;
  Scope scope_;
  Executor executor_;
};

class SumsTest : public SequenceScanTest,
                 public ::testing::WithParamInterface<
                     std::tuple<std::vector<int64_t>, bool /* reversed */>> {};

TEST_P(SumsTest, EachSequenceStopsWhereItEnds) {
  const auto& [lengths, reversed] = GetParam();
  const Var x = program_.RaggedData("x", DType::kFloat64, {-1, 2});
  const Var first = program_.Data("first", DType::kFloat64, {-1, 2});
  const auto made = nn::SequenceScan(
      [](const Vars& carried, const Vars& rows) -> ScanStep {
        const Var sum = ops::ElementwiseAdd(carried[0], rows[0]);
        return {{sum, carried[1]}, {sum}};
      },
      {first, {2, 3}}, {x}, {.reversed = reversed});
  EXPECT_EQ(made.carried[1].dims(), DDim({-1, 2, 3}));
  EXPECT_EQ(made.stacked[0].offsets().name(), "x@LOD");

  const std::vector<Tensor> sequences = Counting(lengths);
  const auto count = static_cast<int64_t>(lengths.size());
  Feeds feeds = PackSequences("x", sequences);
  const Tensor offsets = feeds[1].second;
  const Doubles start(lengths.size() * 2, 0.5);
  feeds.emplace_back("first", Tensor::FromVector<double>({count, 2}, start));
  const auto results = executor_.Run(
      program_, feeds, {made.carried[0], made.stacked[0], made.carried[1]});
  const Doubles last = results[0].ToVector<double>();
  const std::vector<Tensor> sums = UnpackSequences(results[1], offsets);
  EXPECT_EQ(results[2].ToVector<double>(), Doubles(lengths.size() * 6, 0));
  for (size_t b = 0; b < lengths.size(); ++b) {
    const Doubles values = sequences[b].ToVector<double>();
    const Doubles found = sums[b].ToVector<double>();
    for (size_t column = 0; column < 2; ++column) {
      double sum = 0.5;
      for (int64_t t = 0; t < lengths[b]; ++t) {
        const int64_t row = reversed ? lengths[b] - 1 - t : t;
        const auto at = static_cast<size_t>(row) * 2 + column;
        sum += values[at];
        EXPECT_EQ(found[at], sum);
      }
      EXPECT_EQ(last[b * 2 + column], sum);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    SequenceScan,
    SumsTest,
    ::testing::Combine(::testing::Values(std::vector<int64_t>{2, 0, 4, 1},
                                         std::vector<int64_t>{0, 0}),
                       ::testing::Bool()));

TEST_F(SequenceScanTest, RowsOfSeveralSequencesComeTogether) {
  const Var x = program_.RaggedData("x", DType::kFloat64, {-1, 2});
  const Var y = ops::Scale(x, {.scale = 10});
  const auto made = nn::SequenceScan(
      [](const Vars& /*carried*/, const Vars& rows) -> ScanStep {
        const Var sum = ops::ElementwiseAdd(rows[0], rows[1]);
        return {{}, {sum, rows[1]}};
      },
      {}, {x, y});
  EXPECT_TRUE(made.carried.empty());
  const Feeds feeds = PackSequences("x", Counting({1, 2}));
  const auto results =
      executor_.Run(program_, feeds, {made.stacked[0], made.stacked[1]});
  const auto sums = UnpackSequences(results[0], feeds[1].second);
  EXPECT_EQ(sums[0].ToVector<double>(), Doubles({11, 22}));
  EXPECT_EQ(sums[1].ToVector<double>(), Doubles({33, 44, 55, 66}));
  const auto tens = UnpackSequences(results[1], feeds[1].second);
  EXPECT_EQ(tens[1].ToVector<double>(), Doubles({30, 40, 50, 60}));
}

TEST_F(SequenceScanTest, GradientsAreThoseOfDifferences) {
  for (const bool recompute : {false, true}) {
    Program program;
    const nn::Startup startup;
    const Var data = program.RaggedData("x", DType::kFloat64, {-1, 2});
    const Var x =
        nn::Fc(ops::Scale(data, {.scale = 0.1}), 2,
               {.weight = {.name = "v", .initializer = nn::Uniform(0.5, 1, 6)},
                .bias = std::nullopt});
    const auto made = nn::SequenceScan(
        [](const Vars& carried, const Vars& rows) -> ScanStep {
          // Of a padding of zeros they and the gradient would be infinite.
          const Var logs = ops::Log(ops::Square(rows[0]));
          const Var both = ops::Concat({carried[0], logs}, {.axis = 1});
          const Var state = nn::Fc(
              both, 3,
              {.weight = {.name = "w",
                          .initializer = nn::Uniform(-0.5, 0.5, 3)},
               .bias = nn::ParamAttr{.name = "b",
                                     .initializer = nn::Uniform(-1, 1, 4)},
               .act = "tanh"});
          return {{state}, {state, logs}};
        },
        {3}, {x}, {.reversed = true, .recompute = recompute});
    const auto total = [](const Var& rows) {
      return ops::ReduceSum(ops::SequencePool(rows, {.pooltype = "SUM"}).out);
    };
    const Var cubes =
        ops::ElementwiseMul(made.stacked[0], ops::Square(made.stacked[0]));
    const Var loss = ops::ElementwiseAdd(
        ops::ElementwiseAdd(ops::ReduceSum(ops::Square(made.carried[0])),
                            total(cubes)),
        total(made.stacked[1]));
    const auto gradients = AppendBackward(loss);
    ASSERT_EQ(gradients.size(), 3u);
    Scope scope;
    executor_.Run(startup, {}, {}, &scope);
    const Feeds feeds = PackSequences("x", Counting({3, 0, 1, 2}));
    const auto value = [&](const std::string& fetched) {
      return executor_.Run(program, feeds, {fetched}, &scope)[0]
          .ToVector<double>();
    };
    for (const auto& [param, gradient] : gradients) {
      const Doubles found = value(gradient);
      Tensor& tensor = *scope.FindVar(param)->GetMutable<Tensor>();
      for (size_t i = 0; i < found.size(); ++i) {
        const double before = tensor.data<double>()[i];
        constexpr double kStep = 1e-6;
        tensor.data<double>()[i] = before + kStep;
        const double above = value(loss.name())[0];
        tensor.data<double>()[i] = before - kStep;
        const double below = value(loss.name())[0];
        tensor.data<double>()[i] = before;
        EXPECT_NEAR(found[i], (above - below) / (2 * kStep), 1e-7)
            << param << " " << i;
      }
    }
  }
}

TEST_F(SequenceScanTest, ErrorsNameTheLine) {
  const Var x = program_.RaggedData("x", DType::kFloat32, {-1, 2});
  const Var y = program_.RaggedData("y", DType::kFloat32, {-1, 2});
  const Var dense = program_.Data("dense", DType::kFloat32, {4, 2});
  const auto same = [](const Vars& carried, const Vars&) -> ScanStep {
    return {carried, {}};
  };
  const auto none = [](const Vars&, const Vars&) -> ScanStep { return {}; };
  const auto wider = [](const Vars&, const Vars& rows) -> ScanStep {
    return {{ops::Concat({rows[0], rows[0]}, {.axis = 1})}, {}};
  };
  const auto other_dtype = [](const Vars& carried, const Vars&) -> ScanStep {
    return {{ops::Cast(carried[0], DType::kFloat64)}, {}};
  };
  EXPECT_REFUSED("nn.sequence_scan_none", "there are no sequences",
                 nn::SequenceScan(same, {2}, {}));
  EXPECT_REFUSED("nn.sequence_scan_ragged", "dense [4, 2] is not ragged",
                 nn::SequenceScan(same, {2}, {dense}));
  EXPECT_REFUSED("nn.sequence_scan_offsets", "y is cut by other offsets than x",
                 nn::SequenceScan(same, {2}, {x, y}));
  EXPECT_REFUSED("nn.sequence_scan_first", "sizes of first[1] must be above 0",
                 nn::SequenceScan(same, {2, {2, 0}}, {x}));
  EXPECT_REFUSED("nn.sequence_scan_count", "carries 0 variables on, it got 1",
                 nn::SequenceScan(none, {2}, {x}));
  EXPECT_REFUSED("nn.sequence_scan_carried",
                 "carried[0] is float32 [?, 2] before a step and float32 "
                 "[?, 4] after it",
                 nn::SequenceScan(wider, {2}, {x}));
  EXPECT_REFUSED("nn.sequence_scan_carried", "and float64 [?, 2] after it",
                 nn::SequenceScan(other_dtype, {2}, {x}));
  EXPECT_EQ(program_.blocks().size(), 1u);
  EXPECT_EQ(program_.current_block(), 0);
}

TEST_F(SequenceScanTest, VariablesOfOtherProgramsAreRefused) {
  Program other;
  const Var theirs = other.RaggedData("x", DType::kFloat32, {-1, 2});
  const Var x = program_.RaggedData("x", DType::kFloat32, {-1, 2});
  ScanStep result;
  const auto step = [&](const Vars&, const Vars&) { return result; };
  const auto expect = [&](const char* check, const Vars& sequences) {
    ExpectError(ErrorCode::kInvalidArgument, check,
                {"variable x belongs to another program"},
                [&] { nn::SequenceScan(step, {2}, sequences); });
  };
  expect("program.mixed", {x, theirs});
  result = {{theirs}, {}};
  expect("program.mixed", {x});
  result = {{x}, {theirs}};
  expect("control_flow.program", {x});
}

// Networks that tell whether a sequence of bits has an odd number of ones,
// which needs gradients through all steps: chance is 50 %.
class ParityTest : public SequenceScanTest {
 protected:
  static constexpr int64_t kUnits = 16;
  static constexpr size_t kBatch = 32;

  static nn::ParamAttr Weight(int64_t seed, bool trainable) {
    return {.initializer = nn::Xavier({.seed = seed}), .trainable = trainable};
  }
  // A gated recurrent unit, written by hand. `x` and `h` are [B, ...].
  static Var Cell(const Var& x, const Var& h, bool trainable) {
    const nn::ParamAttr bias = {.trainable = trainable};
    const Vars gates = Split(
        nn::Fc(
            ops::Concat({x, h}, {.axis = 1}), 2 * kUnits,
            {.weight = Weight(11, trainable), .bias = bias, .act = "sigmoid"}),
        2, 1);
    const Var kept = ops::ElementwiseMul(gates[0], h);
    const Var fresh =
        nn::Fc(ops::Concat({x, kept}, {.axis = 1}), kUnits,
               {.weight = Weight(12, trainable), .bias = bias, .act = "tanh"});
    const Var change = ops::ElementwiseSub(fresh, h);
    return ops::ElementwiseAdd(h, ops::ElementwiseMul(gates[1], change));
  }
  // A row of numbers for each of the ragged `bits`.
  Var Embedded() {
    const Var bits = program_.RaggedData("bits", DType::kInt64, {-1, 1});
    return nn::Embedding(bits, 2, 8,
                         {.table = {.initializer = nn::Uniform(-1, 1, 13)}});
  }

  using Bits = std::vector<std::vector<int64_t>>;
  // Up to 8 bits for each row.
  Bits Draw() {
    Bits batch(kBatch);
    for (auto& bits : batch) {
      bits.resize(random_() % 9);
      for (int64_t& bit : bits) {
        bit = static_cast<int64_t>(random_() % 2);
      }
    }
    return batch;
  }
  static Feeds Ragged(const Bits& batch) {
    std::vector<Tensor> sequences;
    for (const auto& bits : batch) {
      sequences.push_back(Tensor::FromVector<int64_t>(
          {static_cast<int64_t>(bits.size()), 1}, bits));
    }
    return PackSequences("bits", sequences);
  }

  // Trains by what the network knows of a sequence at its end, [B, kUnits].
  // Returns the share of right answers of the last 20 batches; ends when that
  // is above 0.97.
  double Learn(const Var& state,
               int steps,
               const std::function<Feeds(const Bits&)>& feed) {
    const Var label = program_.Data("label", DType::kInt64, {-1, 1});
    const Var logits = nn::Fc(state, 2, {.weight = Weight(14, true)});
    const Var best = ops::TopK(logits, {.k = 1}).indices;
    const Var right = ops::Accuracy(best, label).accuracy;
    nn::Adam({.learning_rate = 0.02})
        .Minimize(ops::Mean(ops::SoftmaxWithCrossEntropy(logits, label).loss));
    executor_.Run(startup_, {}, {}, &scope_);
    double share = 0;
    std::vector<double> shares;
    for (int step = 0; step < steps && share < 0.97; ++step) {
      const Bits batch = Draw();
      std::vector<int64_t> labels;
      for (const auto& bits : batch) {
        labels.push_back(std::accumulate(bits.begin(), bits.end(), int64_t{0}) %
                         2);
      }
      Feeds feeds = feed(batch);
      feeds.emplace_back("label",
                         Tensor::FromVector<int64_t>({kBatch, 1}, labels));
      shares.push_back(static_cast<double>(
          executor_.Run(program_, feeds, {right}, &scope_)[0]
              .data<float>()[0]));
      if (shares.size() < 20) continue;
      share = std::accumulate(shares.end() - 20, shares.end(), 0.0) / 20;
    }
    return share;
  }

 private:
  std::mt19937 random_{5};
};

class FixedOrTrainedTest : public ParityTest,
                           public ::testing::WithParamInterface<bool> {
 protected:
  // A network whose recurrent part is fixed fails.
  void Expect(double share) const {
    if (GetParam()) {
      EXPECT_GT(share, 0.95);
    } else {
      EXPECT_LT(share, 0.8);
    }
  }
  int steps() const { return GetParam() ? 600 : 150; }
};

TEST_P(FixedOrTrainedTest, ALoopOverRaggedRowsLearns) {
  const bool trainable = GetParam();
  const auto made = nn::SequenceScan(
      [&](const Vars& carried, const Vars& rows) -> ScanStep {
        return {{Cell(rows[0], carried[0], trainable)}, {}};
      },
      {kUnits}, {Embedded()});
  Expect(Learn(made.carried[0], steps(), Ragged));
}

TEST_P(FixedOrTrainedTest, ACellInAScanLearns) {
  const bool trainable = GetParam();
  // Bits along the first axis; zeros, which change no parity, after the last.
  const Var bits = program_.Data("bits", DType::kFloat32, {8, -1, 1});
  const Var first = program_.Data("first", DType::kFloat32, {-1, kUnits});
  const auto made = Scan(
      [&](const Vars& carried, const Vars& elements) -> ScanStep {
        return {{Cell(elements[0], carried[0], trainable)}, {}};
      },
      {first}, {bits});
  const auto feed = [](const Bits& batch) -> Feeds {
    std::vector<float> values(8 * kBatch);
    for (size_t b = 0; b < kBatch; ++b) {
      for (size_t t = 0; t < batch[b].size(); ++t) {
        values[t * kBatch + b] = static_cast<float>(batch[b][t]);
      }
    }
    const std::vector<float> zeros(kBatch * kUnits);
    return {{"bits", Tensor::FromVector<float>({8, kBatch, 1}, values)},
            {"first", Tensor::FromVector<float>({kBatch, kUnits}, zeros)}};
  };
  Expect(Learn(made.carried[0], steps(), feed));
}

TEST_P(FixedOrTrainedTest, AStackedLstmLearns) {
  const auto lstm =
      nn::Lstm(Embedded(), kUnits,
               {.num_layers = 2,
                .weights = {.initializer = nn::Uniform(-0.25, 0.25, 15),
                            .trainable = GetParam()},
                .bias = nn::ParamAttr{.trainable = GetParam()}});
  const Var last = ops::SequencePool(lstm.out, {.pooltype = "LAST"}).out;
  Expect(Learn(last, steps(), Ragged));
}

INSTANTIATE_TEST_SUITE_P(Parity,
                         FixedOrTrainedTest,
                         ::testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "Trained" : "Fixed";
                         });

}  // namespace
}  // namespace sluice
