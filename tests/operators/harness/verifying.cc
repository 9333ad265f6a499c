#include "tests/operators/harness/verifying.h"

#include <cmath>
#include <memory>
#include <stdexcept>
#include <vector>

#include "tests/operators/harness/kernel_choice.h"
#include <gtest/gtest.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/plan/run_observer.h"
#include "sluice/framework/run/executor.h"
#include "sluice/framework/run/run_op.h"

namespace sluice::testing {

namespace {

// Visits an op before a plan runs it.
class VisitOp : public RunObserver {
 public:
  using Visit = std::function<void(const IsolatedOp&)>;

  VisitOp(const std::string& op, const Visit& visit) : op_(op), visit_(visit) {}

  void Before(const Plan& plan,
              const Instruction& instruction,
              const Tensor* tensors) override {
    if (instruction.kernel == nullptr) return;
    const auto op = Isolate(plan, instruction.context, tensors);
    if (op.facts.desc.type != op_) return;
    visit_(op);
    // The run is not needed.
    throw Error(ErrorCode::kInternal, kVisited, "visited");
  }

  static constexpr const char* kVisited = "harness.visited";

 private:
  const std::string& op_;
  const Visit& visit_;
};

}  // namespace

double StoredAs(DType dtype, double want) {
  return dtype == DType::kFloat8E8M0FNU && want == 0 ? std::ldexp(1.0, -127)
                                                     : want;
}

void VisitIsolated(const std::string& op,
                   const OpExample& example,
                   const std::function<void(const IsolatedOp&)>& visit) {
  std::vector<std::string> outputs;
  for (const auto& def : Registry::Global().Schema(op).outputs()) {
    outputs.push_back(def.name);
  }
  OneOp made = MakeOneOp(op, example.inputs, example.attributes, outputs);
  Executor executor(CPUPlace(), {.passes = false});
  std::shared_ptr<const Plan> plan;
  try {
    plan = executor.Prepare(made.program, made.feeds, made.fetches);
  } catch (const Error& error) {
    if (error.check_id() == "resolver.no_kernel") return;
    throw;
  }
  VisitOp observer(op, visit);
  try {
    plan->RunObserved(made.feeds, nullptr, observer);
    ADD_FAILURE() << op << " is not in its plan";
  } catch (const Error& error) {
    if (error.check_id() != VisitOp::kVisited) throw;
  }
}

Reference ToReference(const IsolatedOp& op, const Arrays& want, double slack) {
  Reference reference{.name = "the reference"};
  for (size_t i = 0; i < op.facts.outputs.size(); ++i) {
    const std::string name = OutputName(op.facts, i);
    const DType dtype = op.facts.output_dtypes[i];
    const auto found = want.find(name);
    if (found == want.end()) throw std::logic_error("no reference for " + name);
    const Array& array = found->second;
    if (op.facts.outputs[i].known()) {
      EXPECT_EQ(op.facts.outputs[i], array.dims) << name;
    }
    auto& values = reference.outputs.emplace_back();
    for (const double value : array.values) {
      values.push_back(StoredAs(dtype, value));
    }
    reference.bounds.push_back(NaiveBound(dtype, slack));
  }
  return reference;
}

Verification Verify(const KernelDef& kernel,
                    const IsolatedOp& op,
                    const Verifier& verifier) {
  const PlaceKey place(kernel.key.place, 0);
  if (!LossOfDevice().empty() || kernel.key.dtype != op.facts.dtype ||
      (kernel.predicate &&
       !kernel.predicate(op.facts.QueryAt(place)).empty())) {
    return {.check = "refused"};
  }
  VerifyOptions options{.threads = {1, 2}, .infinities = true};
  // A device does not use our threads.
  if (place.kind != PlaceKind::kCPU) options.threads.resize(1);
  return verifier.Check(kernel, place, options);
}

bool ExpectRight(const KernelDef& kernel,
                 const IsolatedOp& op,
                 const Verifier& verifier) {
  const Verification found = Verify(kernel, op, verifier);
  if (found.check == "refused") return false;
  if (!found.check.empty()) {
    const std::string text = Format("{}, {} threads: {}: {}", kernel,
                                    found.threads, found.check, found.message);
    if (found.check == "device") LossOfDevice() = text;
    ADD_FAILURE() << text;
  }
  return true;
}

}  // namespace sluice::testing
