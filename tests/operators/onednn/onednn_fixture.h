#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/testing/has_module.h"
#include <gtest/gtest.h>

#include "sluice/framework/hints/kernel_hints.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/framework/run/executor.h"
#include "sluice/platform/diagnostics/counters.h"

namespace sluice::testing {

// Selects oneDNN, even if SLUICE_ENABLE_ONEDNN disables it.
inline constexpr const char* kOneDnnOnly =
    "require library=ONEDNN; allow library=ONEDNN";

// For tests of all oneDNN kernels; skipped if it is not built. oneDNN computes
// every op.
class OneDnnTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasModule("onednn")) GTEST_SKIP() << "oneDNN's kernels are not built";
  }

  static int64_t Count(const char* name) { return Counter(name); }

  static Tensor Ramp(const DDim& dims) {
    std::vector<float> values(static_cast<size_t>(dims.numel()));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i % 17) / 8 - 1;
    }
    return Tensor::FromVector<float>(dims, values);
  }

  // Adds an op with one output, of the first argument's dtype.
  std::string Append(const std::string& op,
                     Program::ArgList inputs,
                     const std::string& output,
                     AttributeMap attributes = {}) {
    OpDesc desc;
    desc.type = op;
    desc.inputs = std::move(inputs);
    desc.outputs = {{output, {"t" + std::to_string(ops_++)}}};
    desc.attributes = std::move(attributes);
    const std::string name = desc.outputs[0].second[0];
    program_.AppendOp(desc);
    return name;
  }

  void Data(const std::string& name, const Tensor& value) {
    program_.Data(name, value.dtype(), value.dims());
    feeds_.emplace_back(name, value);
  }

  std::optional<KernelHintGuard> hint_{kOneDnnOnly};
  Program program_;
  Feeds feeds_;
  Executor executor_;

 private:
  int ops_ = 0;
};

}  // namespace sluice::testing
