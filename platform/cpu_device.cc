#include "sluice/platform/cpu_device.h"

#include <algorithm>
#include <cstdlib>

#include "sluice/platform/cpu_device_context.h"
#include "sluice/platform/cpu_info.h"

namespace sluice::platform {
namespace {

constexpr size_t kAlignment = 64;

class CPUDevice final : public Device {
 public:
  PlaceKey place() const override { return CPUPlace{}; }

  void* Allocate(size_t bytes) override {
    if (bytes > SIZE_MAX - kAlignment) return nullptr;
    const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return std::aligned_alloc(kAlignment, std::max(rounded, kAlignment));
  }

  void Free(void* pointer, size_t /*bytes*/) override { std::free(pointer); }

  // malloc grants more than there is and the process dies when it is touched;
  // so the limit is ours to keep.
  size_t MemoryLimit() const override {
    const size_t total = HostMemoryBytes();
    return total - total / 8;
  }

  bool host_accessible() const override { return true; }

  std::unique_ptr<DeviceContext> CreateContext() override {
    return std::make_unique<CPUDeviceContext>();
  }
};

}  // namespace

std::unique_ptr<Device> MakeCPUDevice() {
  return std::make_unique<CPUDevice>();
}

}  // namespace sluice::platform
