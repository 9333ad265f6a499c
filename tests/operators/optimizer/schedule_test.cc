#include <cmath>
#include <functional>
#include <vector>

#include "tests/operators/harness/op_case.h"

namespace sluice::testing {
namespace {

using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;

std::vector<OpExample> Steps(ExampleMaker& make, AttributeMap attributes) {
  attributes["dtype"] = make.dtype();
  std::vector<OpExample> examples;
  for (const DDim& dims : {DDim{1}, {}, {0}, {3, 7}, {20011}}) {
    examples.push_back(
        {{{"Step", make.Integers(DType::kInt64, dims, 0, 40)}}, attributes});
  }
  return examples;
}

// The rate at each step, by a formula of the step.
Arrays AtEach(const Arrays& in, const std::function<double(double)>& formula) {
  Array out = in.at("Step");
  for (double& value : out.values) {
    value = formula(value);
  }
  return {{"Out", out}};
}

std::vector<OpExample> DecayExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const bool staircase : {false, true}) {
    for (OpExample& each : Steps(make, {{"learning_rate", 0.75},
                                        {"decay_steps", int64_t{8}},
                                        {"decay_rate", 0.375},
                                        {"staircase", staircase}})) {
      examples.push_back(std::move(each));
    }
  }
  return examples;
}

double Part(double step, const OpDesc& op) {
  const double part =
      step / static_cast<double>(GetAttr<int64_t>(op, "decay_steps"));
  return GetAttr<bool>(op, "staircase") ? std::floor(part) : part;
}

Arrays ExponentialReference(const Arrays& in, const OpDesc& op) {
  return AtEach(in, [&](double step) {
    return 0.75 * std::exp(Part(step, op) * std::log(0.375));
  });
}
REGISTER_OP_CASE(exponential_decay, DecayExamples, ExponentialReference);

Arrays NaturalReference(const Arrays& in, const OpDesc& op) {
  return AtEach(
      in, [&](double step) { return 0.75 / std::exp(0.375 * Part(step, op)); });
}
REGISTER_OP_CASE(natural_exp_decay, DecayExamples, NaturalReference);

Arrays InverseReference(const Arrays& in, const OpDesc& op) {
  return AtEach(
      in, [&](double step) { return 0.75 / (1 + 0.375 * Part(step, op)); });
}
REGISTER_OP_CASE(inverse_time_decay, DecayExamples, InverseReference);

std::vector<OpExample> PolynomialExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const bool cycle : {false, true}) {
    for (OpExample& each : Steps(make, {{"learning_rate", 0.75},
                                        {"decay_steps", int64_t{9}},
                                        {"end_learning_rate", 0.125},
                                        {"power", 1.5},
                                        {"cycle", cycle}})) {
      examples.push_back(std::move(each));
    }
  }
  return examples;
}
Arrays PolynomialReference(const Arrays& in, const OpDesc& op) {
  return AtEach(in, [&](double step) {
    double end = 9;
    while (GetAttr<bool>(op, "cycle") && end < step)
      end += 9;
    const double left = std::max(0.0, end - step) / end;
    return 0.125 + 0.625 * left * std::sqrt(left);
  });
}
REGISTER_OP_CASE(polynomial_decay, PolynomialExamples, PolynomialReference);

std::vector<OpExample> PiecewiseExamples(ExampleMaker& make) {
  return Steps(make, {{"boundaries", Ints{5, 20, 21}},
                      {"values", Floats{1, 0.5, 0.25, 2}}});
}
Arrays PiecewiseReference(const Arrays& in, const OpDesc& /*op*/) {
  return AtEach(in, [](double step) {
    return step < 5 ? 1 : step < 20 ? 0.5 : step < 21 ? 0.25 : 2;
  });
}
REGISTER_OP_CASE(piecewise_decay, PiecewiseExamples, PiecewiseReference);

std::vector<OpExample> NoamExamples(ExampleMaker& make) {
  return Steps(make, {{"d_model", int64_t{64}},
                      {"warmup_steps", int64_t{16}},
                      {"learning_rate", 3.0}});
}
Arrays NoamReference(const Arrays& in, const OpDesc& /*op*/) {
  return AtEach(in, [](double step) {
    const double n = step + 1;
    return 3.0 / 8 * (n < 16 ? n / 64 : 1 / std::sqrt(n));
  });
}
REGISTER_OP_CASE(noam_decay, NoamExamples, NoamReference);

std::vector<OpExample> CosineExamples(ExampleMaker& make) {
  return Steps(make, {{"learning_rate", 3.0},
                      {"step_each_epoch", int64_t{4}},
                      {"epochs", int64_t{12}}});
}
Arrays CosineReference(const Arrays& in, const OpDesc& /*op*/) {
  return AtEach(in, [](double step) {
    const double half = std::cos(std::floor(step / 4) * M_PI / 24);
    return 3 * half * half;
  });
}
REGISTER_OP_CASE(cosine_decay, CosineExamples, CosineReference);

}  // namespace
}  // namespace sluice::testing
