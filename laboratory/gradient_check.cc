#include "sluice/laboratory/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/run/executor.h"
#include "sluice/laboratory/example_op.h"
#include "sluice/platform/error.h"

namespace sluice::framework {

using platform::CPUPlace;
using platform::DType;
using platform::Format;

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

// One example of an op as a function of its inputs: the weighted sum of its
// outputs.
class Differences {
 public:
  Differences(const IsolatedOp& op, OpSchema::GradientFn gradient)
      : executor_(CPUPlace()) {
    double seed = 0.1;
    Program program;
    OpDesc desc = op.facts.desc;
    size_t flat = 0;
    for (const auto& [argument, vars] : desc.inputs) {
      for (const std::string& var : vars) {
        feeds_.emplace_back(var, Spread(op.inputs[flat], &seed));
        const Tensor& tensor = feeds_.back().second;
        program.Data(var, tensor.dtype(), tensor.dims());
        ++flat;
      }
    }
    forward_ = program.AppendOp(std::move(desc));
    grads_ = gradient(forward_);
    Fetches fetches;
    for (const auto& [argument, vars] : forward_.outputs) {
      for (const std::string& var : vars) {
        output_names_.push_back(var);
        fetches.emplace_back(var);
      }
    }
    plan_ = executor_.Prepare(program, feeds_, fetches);
    outputs_ = plan_->Run(feeds_);
    for (const Tensor& output : outputs_) {
      weights_.push_back(output.dtype() == DType::kFloat64
                             ? Weights(output.dims(), &seed)
                             : Tensor());
    }
  }

  // Returns "" or what differs, and counts the gradients that were compared.
  std::string Compare(int* compared) {
    Program program;
    Feeds feeds;
    const auto feed = [&](const std::string& name, const Tensor& tensor) {
      program.Data(name, tensor.dtype(), tensor.dims());
      feeds.emplace_back(name, tensor);
    };
    for (const auto& [name, tensor] : feeds_) {
      feed(name, tensor);
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      feed(output_names_[i], outputs_[i]);
      if (weights_[i].allocated()) {
        feed(GradName(output_names_[i]), weights_[i]);
      }
    }
    for (const OpDesc& grad : grads_) {
      program.AppendOp(grad);
    }
    for (auto& [name, tensor] : feeds_) {
      const std::string gradient = GradName(name);
      if (program.block().FindVar(gradient) == nullptr) continue;
      const Tensor got = executor_.Run(program, feeds, {gradient})[0];
      ++*compared;
      if (got.dims() != tensor.dims()) {
        return Format("the gradient of {} has shape {}, expected {}", name,
                      got.dims(), tensor.dims());
      }
      std::string message = CompareElements(name, got, tensor);
      if (!message.empty()) return message;
    }
    return "";
  }

 private:
  static Tensor Weights(const DDim& dims, double* seed) {
    std::vector<double> values(static_cast<size_t>(dims.numel()));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = i % 2 == 0 ? -1 : 1;
    }
    return Spread(Tensor::FromVector(dims, values), seed);
  }

  // Change of the weighted sum. Elements are subtracted first, so that large
  // sums lose no digits.
  double Change(const std::vector<Tensor>& from,
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

  std::string CompareElements(const std::string& name,
                              const Tensor& got,
                              Tensor& input) const {
    if (input.dtype() != DType::kFloat64) return "";
    for (int64_t i = 0; i < input.numel(); ++i) {
      double& element = input.data<double>()[i];
      const double kept = element;
      element = kept + kStep;
      const double above_at = element;
      const std::vector<Tensor> above = plan_->Run(feeds_);
      element = kept - kStep;
      const double distance = above_at - element;
      const std::vector<Tensor> below = plan_->Run(feeds_);
      element = kept;
      const double n = Change(below, above) / distance;
      const double a = got.data<double>()[i];
      const double limit =
          kRelativeError * std::max({1.0, std::abs(a), std::abs(n)});
      if (std::abs(a - n) <= limit) continue;
      return Format("the gradient of element {} of {} is {}, by differences {}",
                    i, name.substr(0, name.find('[')), a, n);
    }
    return "";
  }

  Executor executor_;
  Feeds feeds_;
  OpDesc forward_;
  std::vector<OpDesc> grads_;
  std::vector<std::string> output_names_;
  std::shared_ptr<const Plan> plan_;
  std::vector<Tensor> outputs_;
  std::vector<Tensor> weights_;
};

}  // namespace

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
      message = Differences(made.op(), gradient).Compare(&compared);
      if (compared > 0) ++report.examples;
    } catch (const platform::Error& error) {
      // Other errors mean sizes that the op rejects, or no float64 kernel.
      if (error.code() == platform::ErrorCode::kInternal) {
        message = Format("it raised \"{}\"", error.what());
      }
    }
    if (message.empty()) continue;
    report.mistakes.push_back({"gradient", number, 1, signature, message});
    break;
  }
  return report;
}

}  // namespace sluice::framework
