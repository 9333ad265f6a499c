#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/operators/harness/op_case.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::ExpectError;
using Floats = std::vector<float>;
using Int64s = std::vector<int64_t>;

std::map<std::string, Tensor> RunAuc(const Floats& scores,
                                     const Int64s& labels,
                                     const Tensor& before,
                                     const AttributeMap& attributes) {
  const auto rows = static_cast<int64_t>(scores.size());
  return RunOp("auc",
               {{"Predict", Tensor::FromVector<float>({rows, 1}, scores)},
                {"Label", Tensor::FromVector<int64_t>({rows}, labels)},
                {"StatPos", before},
                {"StatNeg", before}},
               attributes);
}

TEST(Auc, IsTheShareOfPairsInTheRightOrder) {
  const Tensor zeros = Tensor::FromVector<int64_t>({1, 5}, Int64s(5, 0));
  const AttributeMap steps = {{"num_thresholds", int64_t{4}}};
  // 3 of 4 pairs; then one pair is a tie.
  auto out = RunAuc({0.1F, 0.6F, 0.3F, 1}, {0, 0, 1, 1}, zeros, steps);
  EXPECT_EQ(out["AUC"].ToVector<double>()[0], 0.75);
  EXPECT_EQ(out["StatPosOut"].ToVector<int64_t>(), (Int64s{0, 1, 0, 0, 1}));
  out = RunAuc({0.1F, 0.3F, 0.3F, 1}, {0, 0, 1, 1}, zeros, steps);
  EXPECT_EQ(out["AUC"].ToVector<double>()[0], 0.875);
  out = RunAuc({0.1F, 0.3F}, {1, 1}, zeros, steps);
  EXPECT_EQ(out["AUC"].ToVector<double>()[0], 0);
}

TEST(Auc, AWindowForgetsTheOldestRun) {
  const Tensor before = Tensor::FromVector<int64_t>({2, 3}, {9, 9, 9, 0, 1, 0});
  const auto out =
      RunAuc({0.9F}, {1}, before,
             {{"num_thresholds", int64_t{2}}, {"slide_steps", int64_t{2}}});
  EXPECT_EQ(out.at("StatPosOut").ToVector<int64_t>(),
            (Int64s{0, 1, 0, 0, 1, 0}));
  EXPECT_EQ(out.at("StatNegOut").ToVector<int64_t>(),
            (Int64s{0, 1, 0, 0, 0, 0}));
}

TEST(Auc, RefusesWhatIsNoProbability) {
  const Tensor zeros = Tensor::FromVector<int64_t>({1, 5}, Int64s(5, 0));
  for (const float bad : {-0.1F, 1.5F, std::nanf("")}) {
    ExpectError(
        ErrorCode::kOutOfRange, "auc.score",
        {"auc", "Predict", "row 1", "0 to 1"}, [&] {
          RunAuc({0.5F, bad}, {0, 1}, zeros, {{"num_thresholds", int64_t{4}}});
        });
  }
}

TEST(PrecisionRecall, AveragesOverClassesAndOverRows) {
  const auto out =
      RunOp("precision_recall",
            {{"Indices", Tensor::FromVector<int64_t>({4}, {0, 1, 1, 1})},
             {"Labels", Tensor::FromVector<int64_t>({4, 1}, {0, 0, 1, 1})},
             {"StatesInfo",
              Tensor::FromVector<float>({2, 4}, {1, 0, 0, 0, 0, 0, 1, 0})}},
            {{"class_number", int64_t{2}}});
  const auto batch = out.at("BatchMetrics").ToVector<double>();
  EXPECT_DOUBLE_EQ(batch[0], 5.0 / 6);
  EXPECT_DOUBLE_EQ(batch[1], 0.75);
  EXPECT_DOUBLE_EQ(batch[3], 0.75);
  EXPECT_EQ(out.at("AccumStatesInfo").ToVector<float>(),
            (Floats{2, 0, 2, 1, 2, 1, 2, 0}));
}

}  // namespace
}  // namespace sluice

// The cases with which the harness tests every kernel of the ops.
namespace sluice::testing {
namespace {

std::vector<OpExample> AucExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  int64_t window = 0;
  for (const DDim& dims : {DDim{9, 2}, {1, 1}, {0, 2}, {8, 1}, {20001, 2}}) {
    Array scores = ToArray(make.Values(dims));
    for (double& score : scores.values) {
      score = std::min(1.0, std::abs(score) / 4);
    }
    const DDim counts({std::max<int64_t>(window, 1), 9});
    examples.push_back(
        {{{"Predict", ToTensor(scores, make.dtype())},
          {"Label", make.Integers(DType::kInt64, {dims[0], 1}, 0, 1)},
          {"StatPos", make.Integers(DType::kInt64, counts, 0, 3)},
          {"StatNeg", make.Integers(DType::kInt64, counts, 0, 3)}},
         {{"num_thresholds", int64_t{8}},
          {"slide_steps", window},
          {"curve", std::string(window % 2 == 0 ? "ROC" : "PR")}}});
    ++window;
  }
  return examples;
}

// The counts of both kinds, and the area from all pairs or all thresholds.
Arrays AucReference(const Arrays& in, const OpDesc& op) {
  const Array& predict = in.at("Predict");
  const auto window = GetAttr<int64_t>(op, "slide_steps");
  Array area({1});
  Arrays out;
  std::vector<double> sums[2];
  for (const int kind : {0, 1}) {
    const std::string name = kind == 1 ? "StatPos" : "StatNeg";
    Array counts = in.at(name);
    const int64_t bins = counts.dims[1], runs = counts.dims[0];
    for (int64_t run = 0; run < runs && window > 0; ++run) {
      for (int64_t i = 0; i < bins; ++i) {
        counts(run, i) = run + 1 < runs ? in.at(name)(run + 1, i) : 0;
      }
    }
    for (int64_t row = 0; row < predict.dims[0]; ++row) {
      const double score = predict(row, predict.dims[1] - 1);
      if (in.at("Label").values[row] != kind) continue;
      counts(runs - 1, static_cast<int64_t>(std::floor(score * 8))) += 1;
    }
    sums[kind].assign(bins, 0);
    for (int64_t run = 0; run < runs; ++run) {
      for (int64_t i = 0; i < bins; ++i) {
        sums[kind][i] += counts(run, i);
      }
    }
    out[name + "Out"] = counts;
  }
  double positive = 0, negative = 0;
  for (size_t i = 0; i < sums[0].size(); ++i) {
    positive += sums[1][i];
    negative += sums[0][i];
  }
  double pairs = 0, recall = 0, precision = 1, under = 0;
  for (size_t i = sums[0].size(); i-- > 0;) {
    double hits = 0, alarms = 0;
    for (size_t j = 0; j < sums[0].size(); ++j) {
      pairs += sums[1][i] * sums[0][j] * (j < i ? 1 : j == i ? 0.5 : 0);
      hits += j < i ? 0 : sums[1][j];
      alarms += j < i ? 0 : sums[0][j];
    }
    if (hits + alarms == 0) continue;
    const double now = hits / (hits + alarms);
    under += (hits / positive - recall) * (now + precision) / 2;
    recall = hits / positive;
    precision = now;
  }
  const bool roc = GetAttr<std::string>(op, "curve") == "ROC";
  if (positive > 0 && negative > 0) {
    area(0) = roc ? pairs / positive / negative : under;
  }
  out["AUC"] = area;
  return out;
}

std::vector<OpExample> PrecisionRecallExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const int64_t rows : {7, 1, 0, 30001}) {
    const auto classes = [&] {
      return make.Integers(DType::kInt64, {rows, 1}, 0, 3);
    };
    examples.push_back({{{"Indices", classes()}, {"Labels", classes()}},
                        {{"class_number", int64_t{4}}}});
    if (rows == 1) continue;
    examples.back().inputs.emplace_back(
        "Weights", make.Integers(DType::kFloat32, {rows, 1}, 1, 3));
    examples.back().inputs.emplace_back(
        "StatesInfo", make.Integers(DType::kFloat32, {4, 4}, 0, 9));
  }
  return examples;
}

double Part(double part, double rest) {
  return part + rest > 0 ? part / (part + rest) : 1;
}

Array MetricsOf(const Array& counts) {
  Array metrics({6});
  double sums[4] = {};
  const auto classes = counts.dims[0];
  for (int64_t c = 0; c < classes; ++c) {
    metrics(0) += Part(counts(c, 0), counts(c, 1));
    metrics(1) += Part(counts(c, 0), counts(c, 3));
    for (int i = 0; i < 4; ++i) {
      sums[i] += counts(c, i);
    }
  }
  metrics(0) /= static_cast<double>(classes);
  metrics(1) /= static_cast<double>(classes);
  metrics(3) = Part(sums[0], sums[1]);
  metrics(4) = Part(sums[0], sums[3]);
  for (const int i : {0, 3}) {
    const double sum = metrics(i) + metrics(i + 1);
    metrics(i + 2) = sum > 0 ? 2 * metrics(i) * metrics(i + 1) / sum : 0;
  }
  return metrics;
}

Arrays PrecisionRecallReference(const Arrays& in, const OpDesc& op) {
  const auto classes = GetAttr<int64_t>(op, "class_number");
  Array counts({classes, 4});
  const auto& indices = in.at("Indices").values;
  for (size_t i = 0; i < indices.size(); ++i) {
    const double weight =
        in.count("Weights") > 0 ? in.at("Weights").values[i] : 1;
    for (int64_t c = 0; c < classes; ++c) {
      const bool said = indices[i] == static_cast<double>(c);
      const bool right = in.at("Labels").values[i] == static_cast<double>(c);
      counts(c, said ? (right ? 0 : 1) : (right ? 3 : 2)) += weight;
    }
  }
  Arrays out = {{"BatchMetrics", MetricsOf(counts)}};
  if (in.count("StatesInfo") > 0) {
    for (size_t i = 0; i < counts.values.size(); ++i) {
      counts.values[i] += in.at("StatesInfo").values[i];
    }
  }
  out["AccumMetrics"] = MetricsOf(counts);
  out["AccumStatesInfo"] = counts;
  return out;
}

REGISTER_OP_CASE(auc, AucExamples, AucReference, 4);
REGISTER_OP_CASE(precision_recall,
                 PrecisionRecallExamples,
                 PrecisionRecallReference,
                 4);

}  // namespace
}  // namespace sluice::testing
