#include "sluice/platform/cpu/cpu_device.h"

#include <algorithm>
#include <cstdlib>

#include <sys/mman.h>

#include "sluice/platform/alignment.h"
#include "sluice/platform/cpu/cpu_info.h"
#include "sluice/platform/cpu_device_context.h"

namespace sluice {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

class CPUDevice final : public Device {
 public:
  PlaceKey place() const override { return CPUPlace{}; }

  void* Allocate(size_t bytes) override {
    if (bytes > SIZE_MAX - kAlignment) return nullptr;
    const size_t rounded = AlignUp(bytes);
    if (rounded >= kHugePage) return AllocateHuge(rounded);
    return std::aligned_alloc(kAlignment, std::max(rounded, kAlignment));
  }

  void Free(void* pointer, size_t /*bytes*/) override { std::free(pointer); }

  // malloc grants more memory than exists, and the kernel kills the process
  // when it is touched. So Sluice must enforce a limit itself.
  size_t MemoryLimit() const override {
    const size_t total = HostMemoryBytes();
    return total - total / 8;
  }

  bool host_accessible() const override { return true; }

  std::unique_ptr<DeviceContext> CreateContext() override {
    return std::make_unique<CPUDeviceContext>();
  }

 private:
  // Uses huge pages where the system has them. The first run of a plan touches
  // its whole arena, and page faults of small pages would take longer than the
  // kernels.
  static void* AllocateHuge(size_t bytes) {
    void* pointer = nullptr;
    if (::posix_memalign(&pointer, kHugePage, bytes) != 0) return nullptr;
    ::madvise(pointer, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
    return pointer;
  }
};

}  // namespace

std::unique_ptr<Device> MakeCPUDevice() {
  return std::make_unique<CPUDevice>();
}

}  // namespace sluice
