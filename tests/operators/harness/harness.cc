#include "tests/operators/harness/harness.h"

#include <cstring>

#include "tests/operators/harness/kernel_choice.h"
#include "tests/operators/harness/verifying.h"
#include <gtest/gtest.h>

#include "sluice/framework/op/op_check.h"
#include "sluice/platform/device.h"
#include "sluice/platform/plugin/kernel_module.h"
#include "sluice/platform/plugin/plugin_loader.h"

namespace sluice::testing {

namespace {

// Kernels of a plug-in or module are registered after the first request for one
// of its places.
void LoadDevices() {
  static const bool fpga = !FindPlugin("fpga").empty();
  if (fpga) DeviceManager::Instance().Get(FPGAPlace{0});
  LoadModule("cuda");
}

// Reports a tensor with 10,000 wrong elements as one failure.
void ExpectNoneWrong(int wrong, const std::string& first) {
  EXPECT_EQ(wrong, 0) << "the first of them: " << first;
}

}  // namespace

std::vector<const KernelDef*> KernelsOf(const std::string& op) {
  LoadDevices();
  for (const auto* module : Registry::Global().Modules(op)) {
    LoadModule(module->name);
  }
  auto kernels = Registry::Global().Kernels(op);
  std::erase_if(kernels,
                [](const KernelDef* kernel) { return !IsChosen(*kernel); });
  return kernels;
}

std::string HintFor(const KernelDef& kernel) {
  std::string hint =
      Format("require place={}:0, library={}, variant={}",
             ToString(kernel.key.place), kernel.key.library, kernel.variant);
  if (kernel.key.place == PlaceKind::kCPU) {
    hint.replace(hint.find(":0"), 2, "");
  }
  hint += "; exclude pass=channels_last";  // the op unchanged
  // Works even if SLUICE_ENABLE_... disables its library.
  if (kernel.key.library != "PLAIN") {
    hint += Format("; allow library={}", kernel.key.library);
  }
  return hint;
}

void ReportFailure(const KernelDef& kernel, const Error& error) {
  const std::string text = ToString(kernel) + ": " + error.what();
  if (error.code() == ErrorCode::kDeviceLost) LossOfDevice() = text;
  ADD_FAILURE() << text;
}

std::optional<Outputs> RunKernel(const KernelDef& kernel,
                                 const OpExample& example,
                                 bool isolate) {
  if (!LossOfDevice().empty()) {
    ADD_FAILURE() << "the device was lost before, by " << LossOfDevice();
    return std::nullopt;
  }
  RunOpOptions options{.hint = HintFor(kernel), .isolate = isolate};
  for (const auto& def : Registry::Global().Schema(kernel.op).outputs()) {
    options.outputs.push_back(def.name);
  }
  try {
    return RunOp(kernel.op, example.inputs, example.attributes, options);
  } catch (const Error& error) {
    if (error.check_id() == "resolver.no_kernel") return std::nullopt;
    ReportFailure(kernel, error);
    return std::nullopt;
  }
}

std::vector<std::string> InputNames(const OpExample& example) {
  std::map<std::string, int> seen;
  std::vector<std::string> names;
  for (const auto& [argument, tensor] : example.inputs) {
    const int number = seen[argument]++;
    names.push_back(number == 0 ? argument
                                : Format("{}[{}]", argument, number));
  }
  return names;
}

void BindInputs(const OpExample& example, OpDesc* op) {
  const std::vector<std::string> names = InputNames(example);
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string& argument = example.inputs[i].first;
    if (names[i] == argument) op->inputs.push_back({argument, {}});
    for (auto& [bound, vars] : op->inputs) {
      if (bound == argument) vars.push_back(names[i]);
    }
  }
}

OpDesc DescribeExample(const std::string& op, const OpExample& example) {
  OpDesc desc;
  desc.type = op;
  BindInputs(example, &desc);
  desc.attributes = example.attributes;
  CompleteOp(Registry::Global().Schema(op), &desc);
  return desc;
}

Arrays InputArrays(const OpExample& example) {
  const std::vector<std::string> names = InputNames(example);
  Arrays arrays;
  for (size_t i = 0; i < names.size(); ++i) {
    arrays.emplace(names[i], ToArray(example.inputs[i].second));
  }
  return arrays;
}

void ExpectNear(const Tensor& got, const Array& want, double slack) {
  ExpectNearEither(got, want, want, slack);
}

void ExpectNearEither(const Tensor& got,
                      const Array& want,
                      const Array& other,
                      double slack) {
  ASSERT_EQ(got.dims(), want.dims);
  ASSERT_EQ(got.dims(), other.dims);
  const Bound bound = NaiveBound(got.dtype(), slack);
  const Array numbers = ToArray(got);
  int wrong = 0;
  std::string first;
  for (size_t i = 0; i < numbers.values.size(); ++i) {
    const double a = numbers.values[i];
    const double b = StoredAs(got.dtype(), want.values[i]);
    const double c = StoredAs(got.dtype(), other.values[i]);
    if (ErrorOf(a, b, bound, got.dtype()) <= 1 ||
        ErrorOf(a, c, bound, got.dtype()) <= 1) {
      continue;
    }
    if (wrong++ == 0) {
      first = Format("element {} of {} is {}, expected {} +- {}", i, got, a, b,
                     bound.At(b));
    }
  }
  ExpectNoneWrong(wrong, first);
}

void ExpectSameBits(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.dims(), want.dims());
  ASSERT_EQ(got.dtype(), want.dtype());
  const auto* a = static_cast<const char*>(got.raw_data());
  const auto* b = static_cast<const char*>(want.raw_data());
  const size_t size = SizeOf(got.dtype());
  int wrong = 0;
  std::string first;
  for (int64_t i = 0; i < got.numel(); ++i) {
    if (std::memcmp(a + i * size, b + i * size, size) == 0) continue;
    if (wrong++ == 0) {
      first = Format("element {} of {}: {} and {}", i, got,
                     ToArray(got).values[i], ToArray(want).values[i]);
    }
  }
  ExpectNoneWrong(wrong, first);
}

std::string ToString(const OpExample& example) {
  std::string text;
  for (const auto& [argument, tensor] : example.inputs) {
    text += Format("{} {} {}, ", argument, tensor.dtype(), tensor.dims());
  }
  for (const auto& [name, value] : example.attributes) {
    text += Format("{} = {}, ", name, sluice::ToString(value));
  }
  return text.empty() ? text : text.substr(0, text.size() - 2);
}

}  // namespace sluice::testing
