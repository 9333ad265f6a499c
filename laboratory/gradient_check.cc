#include "sluice/laboratory/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sluice/laboratory/example_op.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

constexpr double kStep = 1e-4;
constexpr double kRelativeError = 1e-6;
constexpr int64_t kMostElements = 400;
constexpr int kMostExamples = 24;

// Values that all differ and are far apart, so that differences cross no kink:
// the golden ratio spreads them over the range.
Tensor Spread(const Tensor& tensor, double* seed) {
  constexpr double kGolden = 0.6180339887498949;
  Tensor copy = tensor.CopyTo(CPUPlace());
  if (copy.dtype() != DType::kFloat64 || copy.numel() == 0) return copy;
  double* values = copy.data<double>();
  const auto [low, high] = std::minmax_element(values, values + copy.numel());
  double from = *low;
  double range = *high - *low;
  if (range == 0) {
    from -= std::abs(from) / 4;
    range = std::abs(from) / 2;
  }
  for (int64_t i = 0; i < copy.numel(); ++i) {
    *seed += kGolden;
    *seed -= std::floor(*seed);
    values[i] = from + range * *seed;
  }
  return copy;
}

int64_t Elements(const OpFacts& op) {
  int64_t count = 0;
  for (const DDim& dims : op.inputs) {
    count += dims.numel();
  }
  return count;
}

OneOp SpreadOp(const IsolatedOp& op, double* seed) {
  std::vector<std::pair<std::string, Tensor>> inputs;
  inputs.reserve(op.inputs.size());
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    inputs.emplace_back(InputName(op.facts, i), Spread(op.inputs[i], seed));
  }
  std::vector<std::string> outputs;
  outputs.reserve(op.facts.desc.outputs.size());
  for (const auto& [argument, vars] : op.facts.desc.outputs) {
    outputs.push_back(argument);
  }
  return MakeOneOp(op.facts.desc.type, inputs, op.facts.desc.attributes,
                   outputs);
}

Tensor SpreadWeights(const DDim& dims, double* seed) {
  std::vector<double> values(static_cast<size_t>(dims.numel()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = i % 2 == 0 ? -1 : 1;
  }
  return Spread(Tensor::FromVector(dims, values), seed);
}

}  // namespace

GradientDifferences::GradientDifferences(
    OneOp op, const std::function<Tensor(const DDim&)>& weights)
    : op_(std::move(op)), executor_(CPUPlace()) {
  for (auto& [name, tensor] : op_.feeds) {
    tensor = tensor.CopyTo(CPUPlace());
  }
  plan_ = executor_.Prepare(op_.program, op_.feeds, op_.fetches);
  outputs_ = plan_->Run(op_.feeds);
  for (const Tensor& output : outputs_) {
    weights_.push_back(
        output.dtype() == DType::kFloat64 ? weights(output.dims()) : Tensor());
  }
}

bool GradientDifferences::Differentiable(
    const std::vector<OpDesc>& grads) const {
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (weights_[i].allocated()) continue;
    const std::string gradient = GradName(OutputVar(i));
    for (const OpDesc& grad : grads) {
      for (const auto& [argument, vars] : grad.inputs) {
        if (std::count(vars.begin(), vars.end(), gradient) > 0) return false;
      }
    }
  }
  return true;
}

std::string GradientDifferences::Compare(const std::vector<OpDesc>& grads,
                                         double relative_error,
                                         int* compared) {
  *compared = 0;
  if (!Differentiable(grads)) return "";
  Program program;
  Feeds feeds;
  const auto feed = [&](const std::string& name, const Tensor& tensor) {
    program.Data(name, tensor.dtype(), tensor.dims());
    feeds.emplace_back(name, tensor);
  };
  for (const auto& [name, tensor] : op_.feeds) {
    feed(name, tensor);
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    feed(OutputVar(i), outputs_[i]);
    if (weights_[i].allocated()) feed(GradName(OutputVar(i)), weights_[i]);
  }
  for (const OpDesc& grad : grads) {
    program.AppendOp(grad);
  }
  for (auto& [name, tensor] : op_.feeds) {
    const std::string gradient = GradName(name);
    if (program.block().FindVar(gradient) == nullptr) continue;
    const Tensor got = executor_.Run(program, feeds, {gradient})[0];
    ++*compared;
    if (got.dims() != tensor.dims()) {
      return Format("the gradient of {} has shape {}, expected {}", name,
                    got.dims(), tensor.dims());
    }
    std::string message = CompareElements(name, got, relative_error, tensor);
    if (!message.empty()) return message;
  }
  return "";
}

// Change of the weighted sum. Elements are subtracted first, so that large sums
// lose no digits.
double GradientDifferences::Change(const std::vector<Tensor>& from,
                                   const std::vector<Tensor>& to) const {
  double sum = 0;
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (!weights_[i].allocated()) continue;
    for (int64_t j = 0; j < weights_[i].numel(); ++j) {
      sum += weights_[i].data<double>()[j] *
             (to[i].data<double>()[j] - from[i].data<double>()[j]);
    }
  }
  return sum;
}

std::string GradientDifferences::CompareElements(const std::string& name,
                                                 const Tensor& got,
                                                 double relative_error,
                                                 Tensor& input) const {
  if (input.dtype() != DType::kFloat64) return "";
  for (int64_t i = 0; i < input.numel(); ++i) {
    double& element = input.data<double>()[i];
    const double kept = element;
    element = kept + kStep;
    const double above_at = element;
    const std::vector<Tensor> above = plan_->Run(op_.feeds);
    element = kept - kStep;
    const double distance = above_at - element;
    const std::vector<Tensor> below = plan_->Run(op_.feeds);
    element = kept;
    const double n = Change(below, above) / distance;
    const double a = got.data<double>()[i];
    const double limit =
        relative_error * std::max({1.0, std::abs(a), std::abs(n)});
    if (std::abs(a - n) <= limit) continue;
    return Format("the gradient of element {} of {} is {}, by differences {}",
                  i, name.substr(0, name.find('[')), a, n);
  }
  return "";
}

KernelReport CheckGradient(const OpSchema& schema,
                           OpSchema::GradientFn gradient,
                           const KernelCheckOptions& options) {
  KernelReport report;
  const auto examples = ExamplesToCheck(schema, DType::kFloat64, options);
  for (size_t i = 0; i < examples.size(); ++i) {
    const auto number = static_cast<int>(i);
    if (options.only >= 0 && number != options.only) continue;
    if (report.examples == kMostExamples) break;
    const std::string signature = ToString(examples[i], DType::kFloat64);
    std::string message;
    try {
      const ExampleOp made(examples[i], DType::kFloat64);
      const OpFacts& facts = made.op().facts;
      if (facts.dtype != DType::kFloat64 || Elements(facts) > kMostElements) {
        continue;
      }
      if (options.before) options.before(number, 1, signature, "gradient");
      int compared = 0;
      double seed = 0.1;
      GradientDifferences differences(
          SpreadOp(made.op(), &seed),
          [&seed](const DDim& dims) { return SpreadWeights(dims, &seed); });
      message = differences.Compare(gradient(differences.forward()),
                                    kRelativeError, &compared);
      if (compared > 0) ++report.examples;
    } catch (const Error& error) {
      // Other errors mean sizes that the op rejects, or no float64 kernel.
      if (error.code() == ErrorCode::kInternal) {
        message = Format("it raised \"{}\"", error.what());
      }
    }
    if (message.empty()) continue;
    report.mistakes.push_back({"gradient", number, 1, signature, message});
    break;
  }
  return report;
}

}  // namespace sluice
