#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "tests/operators/onednn/onednn_fixture.h"

#include "sluice/framework/values/scope.h"
#include "sluice/laboratory/tuning/tune.h"

namespace sluice::testing {

// For tests of passes: the ops of a plan, and that it computes the same as the
// program.
class PassTest : public OneDnnTest {
 protected:
  PassTest() {
    // For these sizes plain kernels would be chosen, and nothing fused.
    hint_.reset();
    hint_.emplace(
        "mul: prefer library=ONEDNN; matmul: prefer library=ONEDNN; "
        "conv2d: prefer library=ONEDNN; allow library=ONEDNN");
  }

  void Parameter(const std::string& name, const Tensor& value) {
    program_.Persistable(name, value.dtype(), value.dims());
    *scope_.Var(name).GetMutable<Tensor>() = value;
  }

  std::vector<std::string> Types(const Fetches& fetches) {
    std::vector<std::string> types;
    const auto plan = executor_.Prepare(program_, feeds_, fetches);
    for (const auto& decision : plan->decisions()) {
      types.push_back(decision.op);
    }
    return types;
  }

  std::vector<Tensor> Run(const Fetches& fetches) {
    return executor_.Prepare(program_, feeds_, fetches)->Run(feeds_, &scope_);
  }

  // Fetches with and without passes must be equal except for rounding,
  // including NaNs.
  void ExpectSame(const Fetches& fetches) {
    Executor as_written({}, {.passes = false});
    const auto want =
        as_written.Prepare(program_, feeds_, fetches)->Run(feeds_, &scope_);
    const auto got = Run(fetches);
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(got[i].dims(), want[i].dims());
      for (int64_t j = 0; j < want[i].numel(); ++j) {
        const float a = got[i].data<float>()[j], b = want[i].data<float>()[j];
        if (a == b || (std::isnan(a) && std::isnan(b))) continue;
        ASSERT_NEAR(a, b, 1e-5 * std::max(1.0F, std::abs(b))) << i << " " << j;
      }
    }
  }

  // All kernels of all ops of the plan must be comparable with a reference, and
  // right.
  void ExpectRight(const Fetches& fetches) {
    const auto plan = executor_.Prepare(program_, feeds_, fetches);
    const TuneResult tuned =
        Tune(*plan, feeds_, &scope_, {.budget_seconds = 60});
    EXPECT_FALSE(tuned.signatures.empty());
    for (const auto& signature : tuned.signatures) {
      EXPECT_TRUE(signature.has_reference) << signature.signature;
      for (const auto& kernel : signature.kernels) {
        EXPECT_EQ(kernel.verdict, Verdict::kOk)
            << signature.signature << ": " << kernel.message;
      }
    }
  }

  Scope scope_;
};

}  // namespace sluice::testing
