#include <cstdint>
#include <limits>

#include "tools/conformance.h"

#include "sluice/platform/error.h"

namespace sluice::conformance {
namespace {

std::string CheckAlignment(PluginDevice& device) {
  for (const size_t bytes : {1, 63, 64, 65, 1000, 4096, 1 << 20}) {
    Block block(device, bytes);  // raises if it is misaligned
  }
  return "";
}

std::string CheckDisjoint(PluginDevice& device) {
  std::vector<std::unique_ptr<Block>> blocks;
  const std::vector<size_t> sizes = {1, 64, 65, 4096, 100, 1, 30000};
  for (const size_t bytes : sizes) {
    blocks.push_back(std::make_unique<Block>(device, bytes));
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const auto a = reinterpret_cast<uintptr_t>(blocks[i]->data());
      const auto b = reinterpret_cast<uintptr_t>(blocks[j]->data());
      if (a < b + sizes[j] && b < a + sizes[i]) {
        return Format("blocks of {} and {} bytes overlap", sizes[i], sizes[j]);
      }
    }
  }
  return "";
}

std::string CheckNothing(PluginDevice& device) {
  void* memory = nullptr;
  device.Call("allocate", [&](SluiceError* error) {
    return device.table().allocate(device.index(), 0, &memory, error);
  });
  if (memory == nullptr) return "";
  device.Call("deallocate", [&](SluiceError* error) {
    return device.table().deallocate(device.index(), memory, 0, error);
  });
  return "";
}

std::string CheckTooMuch(PluginDevice& device) {
  const size_t most = std::numeric_limits<size_t>::max();
  for (const size_t bytes : {most, most - 63, most / 2, size_t{1} << 50}) {
    void* memory = nullptr;
    const PluginResult result = device.Try([&](SluiceError* error) {
      return device.table().allocate(device.index(), bytes, &memory, error);
    });
    if (result.threw) return "allocate threw " + result.text;
    if (result.status != SLUICE_RESOURCE_EXHAUSTED) {
      return Format("{} bytes: expected SLUICE_RESOURCE_EXHAUSTED, got {}",
                    bytes, result.status);
    }
    if (result.text.empty()) return "allocate refused without a sentence";
  }
  Block block(device, 4096);
  return "";
}

std::string CheckReuse(PluginDevice& device) {
  const size_t bytes = std::min(size_t{1} << 20, device.MemoryLimit() / 4);
  for (int i = 0; i < 1000; ++i) {
    Block block(device, bytes);
  }
  return "";
}

}  // namespace

void CheckMemory(Report& report, PluginDevice& device) {
  report.Check("memory.is_aligned", [&] { return CheckAlignment(device); });
  report.Check("memory.is_disjoint", [&] { return CheckDisjoint(device); });
  report.Check("memory.of_zero_bytes", [&] { return CheckNothing(device); });
  report.Check("memory.refuses_too_much", [&] { return CheckTooMuch(device); });
  report.Check("memory.is_given_back", [&] { return CheckReuse(device); });
  if (device.table().memory_limit == nullptr) {
    report.Skip("memory.has_a_limit", "not offered");
    return;
  }
  report.Check("memory.has_a_limit", [&] {
    return device.MemoryLimit() > 0 ? "" : "memory_limit said 0";
  });
}

}  // namespace sluice::conformance
