#include <memory>
#include <set>

#include "tests/operators/harness/harness.h"
#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/plan/run_observer.h"
#include "sluice/framework/run/executor.h"
#include "sluice/laboratory/tuning/verify.h"

namespace sluice::testing {
namespace {

using framework::Candidate;
using framework::IsolatedOp;
using framework::KernelDef;
using framework::KernelRun;
using framework::Tensor;
using framework::Verdict;
using framework::Verifier;
using platform::ErrorCode;

constexpr int kThreads = 2;

// Verifies all candidates of each op that runs.
class VerifyAll : public framework::RunObserver {
 public:
  void Before(const framework::Plan& plan,
              const framework::Instruction& instruction,
              const Tensor* tensors) override {
    if (instruction.kernel == nullptr) return;
    const IsolatedOp op =
        framework::Isolate(plan, instruction.context, tensors);
    const Verifier verifier(op, framework::Registry::Global());
    EXPECT_TRUE(verifier.has_reference()) << op.facts.desc.type;
    const auto& decision = plan.decisions()[instruction.context];
    for (const Candidate& candidate : decision.candidates()) {
      if (candidate.refusal.empty()) Verify(op, verifier, candidate);
    }
  }

 private:
  static void Verify(const IsolatedOp& op,
                     const Verifier& verifier,
                     const Candidate& candidate) {
    const KernelDef& kernel = *candidate.kernel;
    std::unique_ptr<KernelRun> run;
    try {
      run = std::make_unique<KernelRun>(op, kernel, candidate.place, kThreads);
    } catch (const platform::Error& error) {
      if (error.code() == ErrorCode::kUnimplemented) return;  // it refuses
      throw;
    }
    const auto found =
        verifier.Check(kernel, candidate.place, kThreads, run.get());
    EXPECT_EQ(found.verdict, Verdict::kOk)
        << ToString(kernel) << ": " << found.message;
  }
};

class OwnKernels : public ::testing::TestWithParam<std::string> {
 protected:
  void VerifyExample(const OpExample& example) {
    framework::OpDesc desc;
    desc.type = GetParam();
    desc.attributes = example.attributes;
    BindInputs(example, &desc);
    framework::Program program;
    framework::Feeds feeds;
    const std::vector<std::string> names = InputNames(example);
    for (size_t i = 0; i < names.size(); ++i) {
      const Tensor& tensor = example.inputs[i].second;
      program.Data(names[i], tensor.dtype(), tensor.dims());
      feeds.emplace_back(names[i], tensor);
    }
    framework::Fetches fetches;
    for (const auto& output : program.AppendOp(std::move(desc)).outputs) {
      fetches.emplace_back(output.second[0]);
    }
    framework::Executor executor;
    std::shared_ptr<const framework::Plan> plan;
    try {
      plan = executor.Prepare(program, feeds, fetches);
    } catch (const platform::Error& error) {
      if (error.check_id() == "resolver.no_kernel") return;
      throw;
    }
    VerifyAll all;
    plan->RunObserved(feeds, nullptr, all);
  }
};

// A kernel that is found wrong is excluded, so there must be no false alarm.
TEST_P(OwnKernels, AreFoundToBeRight) {
  std::set<platform::DType> dtypes;
  for (const KernelDef* kernel : KernelsOf(GetParam())) {
    dtypes.insert(kernel->key.dtype);
  }
  for (const platform::DType dtype : dtypes) {
    ExampleMaker make(dtype);
    for (const OpExample& example : OpCases().at(GetParam()).examples(make)) {
      SCOPED_TRACE(ToString(example));
      VerifyExample(example);
    }
  }
}

std::vector<std::string> VerifierOpsWithCases() {
  std::vector<std::string> ops;
  for (const auto& [op, unused] : OpCases()) {
    if (framework::Registry::Global().FindSchema(op) != nullptr &&
        !HasLateShapes(op)) {
      ops.push_back(op);
    }
  }
  return ops;
}

INSTANTIATE_TEST_SUITE_P(Ops,
                         OwnKernels,
                         ::testing::ValuesIn(VerifierOpsWithCases()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace sluice::testing
