#include <algorithm>

#include "tools/conformance.h"

#include "sluice/framework/op/near_names.h"
#include "sluice/framework/op/registry.h"
#include "sluice/laboratory/kernel_check.h"
#include "sluice/platform/error.h"

namespace sluice::conformance {
namespace {

const KernelDef* Find(const CheckedKernel& kernel) {
  const auto all = Registry::Global().Kernels(kernel.op);
  const auto found =
      std::find_if(all.begin(), all.end(), [&kernel](const KernelDef* other) {
        return other->key.place == kernel.place.kind &&
               other->key.dtype == kernel.dtype &&
               other->variant == kernel.variant;
      });
  return found == all.end() ? nullptr : *found;
}

// The first mistake; "" for none.
std::string Text(const KernelReport& found) {
  if (found.mistakes.empty()) return "";
  const KernelMistake& mistake = found.mistakes.front();
  return Format("{} with {}: {}", mistake.check, mistake.signature,
                mistake.message);
}

void CheckKernel(Report& report, const CheckedKernel& kernel) {
  const std::string name =
      Format("kernels.{}/{}.{}", kernel.op, kernel.variant, kernel.dtype);
  if (Registry::Global().FindSchema(kernel.op) == nullptr) {
    report.Check(name, [&] {
      return Format(
          "there is no op {}{}; the library of an op of your own is loaded "
          "with --library",
          kernel.op, SuggestNames(kernel.op, Registry::Global().OpNames()));
    });
    return;
  }
  const KernelDef* const def = Find(kernel);
  if (def == nullptr) {
    report.Check(name, [] { return "it is not registered"; });
    return;
  }
  // Fewer sizes than sluice-lab verify tries, in this process.
  KernelReport found;
  std::string wrong;
  try {
    found = sluice::CheckKernels({&def, 1},
                                 {.threads = {1, 2}, .most_others = 24})[0];
    wrong = Text(found);
  } catch (const std::exception& error) {
    wrong = error.what();
  }
  if (found.examples == 0 && wrong.empty()) {
    report.Skip(name, found.remark);
  } else {
    report.Check(name, [&wrong] { return wrong; });
  }
}

}  // namespace

void CheckKernels(Report& report, const std::vector<CheckedKernel>& kernels) {
  if (kernels.empty()) report.Skip("kernels", "it has none");
  for (const CheckedKernel& kernel : kernels) {
    CheckKernel(report, kernel);
  }
}

}  // namespace sluice::conformance
