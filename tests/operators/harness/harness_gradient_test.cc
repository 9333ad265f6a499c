#include <algorithm>
#include <cmath>

#include "tests/operators/harness/harness.h"
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/run/executor.h"

// Compares every gradient op, as its forward op's schema appends it, with
// central differences in float64: |a - n| <= 1e-7 * max(1, |a|, |n|).
namespace sluice::testing {
namespace {

using framework::Executor;
using framework::Feeds;
using framework::Fetches;
using framework::KernelDef;
using framework::OpDesc;
using framework::OpSchema;
using framework::Plan;
using framework::Program;
using framework::Registry;
using framework::Tensor;
using platform::DType;

constexpr double kStep = 1e-4;  // a quarter of ExampleMaker::kSpacing
constexpr double kRelativeError = 1e-7;
constexpr int64_t kMaxElements = 400;  // larger examples would take too long

Feeds Named(const OpExample& example) {
  const std::vector<std::string> names = InputNames(example);
  Feeds feeds;
  for (size_t i = 0; i < names.size(); ++i) {
    feeds.emplace_back(names[i],
                       example.inputs[i].second.CopyTo(platform::CPUPlace()));
  }
  return feeds;
}

// One example of a forward op: a weighted sum of its outputs as a function of
// its inputs, whose gradient is computed in two ways.
class Differences {
 public:
  Differences(const OpSchema& schema,
              const OpExample& example,
              ExampleMaker& make)
      : feeds_(Named(example)) {
    Program program;
    OpDesc op;
    op.type = schema.name();
    op.attributes = example.attributes;
    for (const auto& [name, tensor] : feeds_) {
      program.Data(name, tensor.dtype(), tensor.dims());
    }
    BindInputs(example, &op);
    forward_ = program.AppendOp(op);
    Fetches fetches;
    for (const auto& [argument, vars] : forward_.outputs) {
      fetches.emplace_back(vars[0]);
    }
    plan_ = executor_.Prepare(program, feeds_, fetches);
    outputs_ = plan_->Run(feeds_);
    for (const Tensor& output : outputs_) {
      weights_.push_back(output.dtype() == DType::kFloat64
                             ? make.Values(output.dims())
                             : Tensor());
    }
  }

  // Checks `kernel` of gradient op `which`, run together with the other
  // gradient ops. Returns the number of checked gradients.
  int Check(const std::vector<OpDesc>& grads,
            size_t which,
            const KernelDef& kernel) {
    Program program;
    Feeds feeds;
    const auto feed = [&](const std::string& name, const Tensor& tensor) {
      program.Data(name, tensor.dtype(), tensor.dims());
      feeds.emplace_back(name, tensor);
    };
    for (const auto& [name, tensor] : feeds_)
      feed(name, tensor);
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const std::string& name = forward_.outputs[i].second[0];
      feed(name, outputs_[i]);
      if (weights_[i].allocated()) {
        feed(framework::GradName(name), weights_[i]);
      }
    }
    for (size_t i = 0; i < grads.size(); ++i) {
      program.AppendOp(grads[i]);
      if (i == which) program.Hint(HintFor(kernel));
    }
    int checked = 0;
    for (auto& [name, tensor] : feeds_) {
      const std::string gradient = framework::GradName(name);
      if (program.block().FindVar(gradient) == nullptr) continue;
      SCOPED_TRACE("gradient of " + name);
      const Tensor got = executor_.Run(program, feeds, {gradient})[0];
      ++checked;
      EXPECT_EQ(got.dims(), tensor.dims());
      if (got.dims() == tensor.dims()) CompareWithDifferences(got, tensor);
    }
    return checked;
  }

  // False if an output is not float64, but its gradient is read.
  bool Differentiable(const std::vector<OpDesc>& grads) const {
    for (size_t i = 0; i < weights_.size(); ++i) {
      if (weights_[i].allocated()) continue;
      const std::string name =
          framework::GradName(forward_.outputs[i].second[0]);
      for (const OpDesc& grad : grads) {
        for (const auto& [argument, vars] : grad.inputs) {
          if (std::count(vars.begin(), vars.end(), name) > 0) return false;
        }
      }
    }
    return true;
  }

  const OpDesc& forward() const { return forward_; }

 private:
  // The sum of weights * (outputs - base), so that large sums cost no digits.
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

  void CompareWithDifferences(const Tensor& got, Tensor& input) const {
    int wrong = 0;
    std::string first;
    for (int64_t i = 0; i < input.numel(); ++i) {
      double& element = input.data<double>()[i];
      const double kept = element;
      element = kept + kStep;
      const std::vector<Tensor> above = plan_->Run(feeds_);
      const double distance = element - (kept - kStep);
      element = kept - kStep;
      const std::vector<Tensor> below = plan_->Run(feeds_);
      element = kept;
      const double n = Change(below, above) / distance;
      const double a = got.data<double>()[i];
      const double limit =
          kRelativeError * std::max({1.0, std::abs(a), std::abs(n)});
      if (std::abs(a - n) <= limit) continue;
      if (wrong++ > 0) continue;
      first = platform::Format("element {} is {}, by differences {}", i, a, n);
    }
    EXPECT_EQ(wrong, 0) << "the first of them: " << first;
  }

  Feeds feeds_;
  Executor executor_;
  OpDesc forward_;
  std::shared_ptr<const Plan> plan_;
  std::vector<Tensor> outputs_;
  std::vector<Tensor> weights_;
};

class GradientHarness : public ::testing::TestWithParam<std::string> {};

int64_t Elements(const OpExample& example) {
  int64_t count = 0;
  for (const auto& [argument, tensor] : example.inputs)
    count += tensor.numel();
  return count;
}

TEST_P(GradientHarness, EveryKernelMatchesCentralDifferences) {
  const OpSchema& schema = Registry::Global().Schema(GetParam());
  ExampleMaker make(DType::kFloat64);
  std::map<const KernelDef*, int> gradients;
  for (const OpExample& example : OpCases().at(GetParam()).examples(make)) {
    if (Elements(example) > kMaxElements) continue;
    SCOPED_TRACE(ToString(example));
    Differences differences(schema, example, make);
    const std::vector<OpDesc> grads =
        schema.gradient_fn()(differences.forward());
    if (!differences.Differentiable(grads)) continue;
    for (size_t which = 0; which < grads.size(); ++which) {
      for (const KernelDef* kernel : KernelsOf(grads[which].type)) {
        if (kernel->key.dtype != DType::kFloat64) continue;
        SCOPED_TRACE(ToString(*kernel));
        gradients.try_emplace(kernel, 0);
        try {
          gradients[kernel] += differences.Check(grads, which, *kernel);
        } catch (const platform::Error& error) {
          EXPECT_EQ(error.check_id(), "resolver.no_kernel") << error.what();
        }
      }
    }
  }
  EXPECT_FALSE(gradients.empty()) << "the gradient op has no float64 kernel";
  for (const auto& [kernel, count] : gradients) {
    // Kernels that need other processes: tests/python/ranks.
    if (kernel->has_own_queue() && kernel->predicate) continue;
    EXPECT_GT(count, 0) << ToString(*kernel) << " computed no gradient";
  }
}

// Proves that the checks above can fail.
TEST(GradientCheck, NoticesAWrongGradient) {
  using Ints = std::vector<int64_t>;
  ExampleMaker make(DType::kFloat64);
  const OpExample example = {{{"X", make.Values({5})}},
                             {{"offsets", Ints{1}}, {"shape", Ints{2}}}};
  const OpSchema& schema = Registry::Global().Schema("crop");
  Differences differences(schema, example, make);
  OpDesc grad = schema.gradient_fn()(differences.forward()).at(0);
  const auto kernels = KernelsOf("crop_grad");
  const KernelDef& kernel = **std::find_if(
      kernels.begin(), kernels.end(),
      [](auto* other) { return other->key.dtype == DType::kFloat64; });
  differences.Check({grad}, 0, kernel);
  grad.attributes["offsets"] = Ints{2};
  EXPECT_NONFATAL_FAILURE(differences.Check({grad}, 0, kernel),
                          "by differences");
}

std::vector<std::string> OpsWithGradients() {
  std::vector<std::string> ops;
  for (const auto& [op, unused] : OpCases()) {
    const OpSchema* schema = Registry::Global().FindSchema(op);
    if (schema != nullptr && schema->gradient_fn() != nullptr) {
      ops.push_back(op);
    }
  }
  return ops;
}

INSTANTIATE_TEST_SUITE_P(Ops,
                         GradientHarness,
                         ::testing::ValuesIn(OpsWithGradients()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace sluice::testing
