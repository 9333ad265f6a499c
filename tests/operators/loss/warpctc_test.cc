#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using Floats = std::vector<float>;
using Int64s = std::vector<int64_t>;

// One sequence of two times and two classes, of which 0 is the blank.
std::vector<std::pair<std::string, Tensor>> CtcInputs(const Floats& logits,
                                                      const Int64s& label,
                                                      int64_t times,
                                                      int64_t length) {
  const auto most = static_cast<int64_t>(label.size());
  return {{"Logits", Tensor::FromVector<float>({2, 1, 2}, logits)},
          {"Label", Tensor::FromVector<int64_t>({1, most}, label)},
          {"LogitsLength", Tensor::FromVector<int64_t>({1}, {times})},
          {"LabelLength", Tensor::FromVector<int64_t>({1}, {length})}};
}

float CtcLoss(const Floats& logits,
              const Int64s& label,
              int64_t times,
              int64_t length) {
  return RunOp("warpctc", CtcInputs(logits, label, times, length))["Loss"]
      .ToVector<float>()[0];
}

TEST(WarpCtc, StaysExactWhereProbabilitiesUnderflow) {
  EXPECT_FLOAT_EQ(CtcLoss({1e4F, 0, 1e4F, 0}, {1}, 2, 1),
                  1e4F - std::log(2.0F));
}

TEST(WarpCtc, AnImpossibleLabelHasAnInfiniteLossAndNoGradient) {
  // Equal labels need a blank between them.
  auto inputs = CtcInputs({0, 1, 2, 3}, {1, 1}, 2, 2);
  EXPECT_EQ(RunOp("warpctc", inputs)["Loss"].ToVector<float>()[0],
            std::numeric_limits<float>::infinity());
  inputs.emplace_back("Loss@GRAD", Tensor::FromVector<float>({1, 1}, {1}));
  EXPECT_EQ(RunOp("warpctc_grad", inputs)["Logits@GRAD"].ToVector<float>(),
            Floats(4, 0));
}

}  // namespace
}  // namespace sluice

// The cases with which the harness tests every kernel of the ops.
namespace sluice::testing {
namespace {

using Path = std::vector<int64_t>;

// The sums over all paths of classes that show the label of sequence b.
struct CtcPaths {
  double total = 0;
  std::vector<double> with;  // by time and class
};

CtcPaths SumCtcPaths(const Arrays& in, const OpDesc& op, int64_t b) {
  const Array& logits = in.at("Logits");
  const int64_t classes = logits.dims[2];
  const auto blank = GetAttr<int64_t>(op, "blank");
  const auto times = static_cast<int64_t>(in.at("LogitsLength")(b));
  const auto length = static_cast<int64_t>(in.at("LabelLength")(b));
  Path label, path(times, 0);
  for (int64_t i = 0; i < length; ++i) {
    label.push_back(static_cast<int64_t>(in.at("Label")(b, i)));
  }
  CtcPaths sums;
  sums.with.resize(times * classes);
  for (;;) {
    Path shown;
    double probability = 1;
    for (int64_t t = 0; t < times; ++t) {
      double sum = 0;
      for (int64_t c = 0; c < classes; ++c) {
        sum += std::exp(logits(t, b, c));
      }
      probability *= std::exp(logits(t, b, path[t])) / sum;
      const bool repeats = t > 0 && path[t] == path[t - 1];
      if (path[t] != blank && !repeats) shown.push_back(path[t]);
    }
    if (shown == label) {
      sums.total += probability;
      for (int64_t t = 0; t < times; ++t) {
        sums.with[t * classes + path[t]] += probability;
      }
    }
    int64_t at = 0;  // the next path
    while (at < times && ++path[at] == classes) {
      path[at++] = 0;
    }
    if (at == times) return sums;
  }
}

std::vector<OpExample> CtcExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  const auto kInt = DType::kInt64;
  // Each sequence has enough times for any label.
  for (const auto& [dims, labels] :
       std::vector<std::pair<DDim, int64_t>>{{{4, 2, 3}, 2},
                                             {{3, 3, 2}, 1},
                                             {{1, 1, 2}, 1},
                                             {{5, 2, 4}, 3},
                                             {{3, 0, 3}, 1},
                                             {{3, 2, 3}, 0},
                                             {{4, 61, 3}, 2}}) {
    const int64_t batch = dims[1];
    const int64_t least = std::max<int64_t>(2 * labels - 1, 0);
    const bool last = dims[0] == 4;
    examples.push_back(
        {{{"Logits", make.Values(dims)},
          {"Label", make.Integers(kInt, {batch, labels}, last ? 0 : 1,
                                  dims[2] - (last ? 2 : 1))},
          {"LogitsLength", make.Integers(kInt, {batch}, least, dims[0])},
          {"LabelLength", make.Integers(kInt, {batch}, 0, labels)}},
         {{"blank", last ? dims[2] - 1 : int64_t{0}}}});
  }
  return examples;
}

Arrays CtcReference(const Arrays& in, const OpDesc& op) {
  Array loss({in.at("Logits").dims[1], 1});
  for (int64_t b = 0; b < loss.dims[0]; ++b) {
    loss(b, 0) = -std::log(SumCtcPaths(in, op, b).total);
  }
  return {{"Loss", loss}};
}

std::vector<OpExample> CtcGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = CtcExamples(make);
  for (OpExample& example : examples) {
    const DDim loss({example.inputs[0].second.dims()[1], 1});
    example.inputs.emplace_back("Loss@GRAD", make.Values(loss));
    // Lengths of 0 are not divided by.
    if (loss[0] == 2) example.attributes["norm_by_times"] = true;
  }
  return examples;
}

Arrays CtcGradReference(const Arrays& in, const OpDesc& op) {
  const Array& logits = in.at("Logits");
  Array grad(logits.dims);
  const int64_t classes = logits.dims[2];
  for (int64_t b = 0; b < logits.dims[1]; ++b) {
    const CtcPaths paths = SumCtcPaths(in, op, b);
    const double times = in.at("LogitsLength")(b);
    double scale = in.at("Loss@GRAD")(b, 0);
    if (GetAttr<bool>(op, "norm_by_times")) scale /= times;
    for (int64_t t = 0; t < static_cast<int64_t>(times); ++t) {
      double sum = 0;
      for (int64_t c = 0; c < classes; ++c) {
        sum += std::exp(logits(t, b, c));
      }
      for (int64_t c = 0; c < classes; ++c) {
        grad(t, b, c) = scale * (std::exp(logits(t, b, c)) / sum -
                                 paths.with[t * classes + c] / paths.total);
      }
    }
  }
  return {{"Logits@GRAD", grad}};
}

REGISTER_OP_CASE(warpctc, CtcExamples, CtcReference, 8);
REGISTER_OP_CASE(warpctc_grad, CtcGradExamples, CtcGradReference, 8);

}  // namespace
}  // namespace sluice::testing
