#include "sluice/platform/cuda_emulation/shared_memory.h"

#include <algorithm>
#include <cstring>
#include <new>

#include <sys/mman.h>

#include "sluice/platform/cuda_emulation/fault.h"
#include "sluice/platform/cuda_emulation/pages.h"

namespace sluice::cuda_emulation {
namespace {

constexpr size_t kRedZone = 64;
constexpr size_t kBytes = size_t{512} << 10;

}  // namespace

SharedMemory::SharedMemory() {
  void* memory = mmap(nullptr, kBytes + kPage, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<char*>(memory);
  mprotect(memory_ + kBytes, kPage, PROT_NONE);
}

void SharedMemory::BeginGrid(size_t dynamic_bytes) {
  arrays_.clear();
  used_ = 0;
  dynamic_bytes_ = dynamic_bytes;
  dynamic_ = memory_ + kBytes - RoundUp(dynamic_bytes, 16);
}

void SharedMemory::BeginBlock() {
  for (const StaticArray& array : arrays_) {
    std::memset(memory_ + array.offset, kNaN, array.bytes);
  }
  std::memset(dynamic_, kNaN, dynamic_bytes_);
}

void* SharedMemory::Array(const void* key,
                          const char* name,
                          size_t bytes,
                          size_t alignment) {
  size_t sum = bytes;
  for (const StaticArray& array : arrays_) {
    if (array.key == key) return memory_ + array.offset;
    sum += array.bytes;
  }
  if (sum > kStaticSharedBytes) {
    Fault(cudaErrorLaunchFailure,
          "%zu bytes of static shared memory with array %s, at most %zu", sum,
          name, kStaticSharedBytes);
  }
  const size_t offset =
      RoundUp(used_ + kRedZone, std::max(alignment, size_t{16}));
  std::memset(memory_ + used_, kUntouched, offset - used_);
  std::memset(memory_ + offset, kNaN, bytes);
  std::memset(memory_ + offset + bytes, kUntouched, kRedZone);
  used_ = offset + bytes + kRedZone;
  arrays_.push_back({key, name, offset, bytes});
  return memory_ + offset;
}

void SharedMemory::EndBlock() {
  size_t at = 0;
  for (size_t i = 0; i <= arrays_.size() && !arrays_.empty(); ++i) {
    const bool last = i == arrays_.size();
    const size_t end = last ? used_ : arrays_[i].offset;
    for (; at < end; ++at) {
      if (memory_[at] == kUntouched) continue;
      const StaticArray& array = arrays_[i == 0 ? 0 : i - 1];
      Fault(cudaErrorIllegalAddress,
            "a write outside of shared array %s (%zu bytes), at byte %td",
            array.name, array.bytes,
            static_cast<ptrdiff_t>(at) - static_cast<ptrdiff_t>(array.offset));
    }
    if (!last) at = arrays_[i].offset + arrays_[i].bytes;
  }
}

bool SharedMemory::IsGuard(const void* address) const {
  const auto* byte = static_cast<const char*>(address);
  return byte >= memory_ + kBytes && byte < memory_ + kBytes + kPage;
}

}  // namespace sluice::cuda_emulation
