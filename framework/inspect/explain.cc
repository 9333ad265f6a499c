#include "sluice/framework/inspect/explain.h"

#include <algorithm>
#include <mutex>
#include <new>

#include "sluice/memory/allocator.h"
#include "sluice/platform/device.h"
#include "sluice/platform/error.h"
#include "sluice/platform/plugin/plugin_loader.h"

namespace sluice {

std::vector<const KernelDef*> KernelsElsewhere(const Decision& decision) {
  static std::once_flag once;
  std::call_once(once, &LoadAllDevices);
  std::vector<const KernelDef*> kernels =
      Registry::Global().Kernels(decision.op);
  std::erase_if(kernels, [&](const KernelDef* kernel) {
    return std::any_of(
        decision.candidates().begin(), decision.candidates().end(),
        [&](const Candidate& candidate) { return candidate.kernel == kernel; });
  });
  return kernels;
}

std::string WhyElsewhere(const Decision& decision, const KernelDef& kernel) {
  return WhyElsewhere(decision.list->expected_place,
                      ToString(kernel.key.place));
}

std::string MemoryTable() try {
  constexpr std::string_view kRow = "{:<8}  {:<12}  {:<12}  {:<12}  {}\n";
  std::string text =
      Format(kRow, "place", "in use", "peak", "reserved", "limit");
  for (const PlaceKey place : DeviceManager::Instance().Places()) {
    const MemoryStats stats = Stats(place);
    text += Format(kRow, ToString(place), stats.in_use, stats.peak,
                   stats.reserved, stats.limit);
  }
  return text;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

std::string ExplainText(const Plan& plan) try {
  return Explain(plan, {.all = true, .width = 1 << 20});
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
