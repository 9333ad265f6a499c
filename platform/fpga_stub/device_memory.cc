#include "sluice/platform/fpga_stub/device_memory.h"

#include <algorithm>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace sluice::fpga_stub {
namespace {

constexpr size_t kAlignment = 64;
// When repeated, a quiet NaN as float32 and a signalling one as float64.
constexpr uint32_t kPoison = 0x7FF4DEAD;

}  // namespace

void FillWithPoison(void* to, size_t bytes) {
  char* out = static_cast<char*>(to);
  for (; bytes >= sizeof(kPoison); bytes -= sizeof(kPoison)) {
    std::memcpy(out, &kPoison, sizeof(kPoison));
    out += sizeof(kPoison);
  }
  std::memcpy(out, &kPoison, bytes);
}

DeviceMemory::DeviceMemory(size_t capacity)
    : capacity_(capacity / kAlignment * kAlignment) {}

DeviceMemory::~DeviceMemory() {
  if (host_view_ != nullptr) munmap(host_view_, capacity_);
  if (device_view_ != nullptr) munmap(device_view_, capacity_);
  if (file_ >= 0) close(file_);
}

bool DeviceMemory::Map() {
  if (device_view_ != nullptr) return true;
  if (file_ < 0) file_ = memfd_create("sluice_fpga", MFD_CLOEXEC);
  if (file_ < 0 || ftruncate(file_, static_cast<off_t>(capacity_)) != 0) {
    return false;
  }
  void* host = mmap(nullptr, capacity_, PROT_NONE, MAP_SHARED, file_, 0);
  if (host == MAP_FAILED) return false;
  void* device =
      mmap(nullptr, capacity_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (device == MAP_FAILED) {
    munmap(host, capacity_);
    return false;
  }
  host_view_ = static_cast<char*>(host);
  device_view_ = static_cast<char*>(device);
  return true;
}

size_t DeviceMemory::FindGap(size_t bytes) const {
  size_t begin = 0;
  for (const auto& [offset, size] : blocks_) {
    if (offset - begin >= bytes) return begin;
    begin = offset + size;
  }
  return capacity_ - begin >= bytes ? begin : capacity_;
}

void* DeviceMemory::Allocate(size_t bytes, size_t limit) {
  if (bytes > capacity_ || !Map()) return nullptr;
  const size_t size =
      std::max((bytes + kAlignment - 1) / kAlignment, size_t{1}) * kAlignment;
  if (size > limit || in_use_ > limit - size) return nullptr;
  const size_t offset = FindGap(size);
  if (offset == capacity_) return nullptr;
  blocks_.emplace(offset, size);
  in_use_ += size;
  FillWithPoison(device_view_ + offset, size);
  return host_view_ + offset;
}

bool DeviceMemory::Free(void* address) {
  const size_t offset =
      static_cast<size_t>(static_cast<char*>(address) - host_view_);
  const auto block = blocks_.find(offset);
  if (block == blocks_.end()) return false;
  // Returns whole pages to the system; the rest is poisoned when reused.
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
            static_cast<off_t>(offset), static_cast<off_t>(block->second));
  in_use_ -= block->second;
  blocks_.erase(block);
  return true;
}

char* DeviceMemory::Find(const void* address, size_t bytes) const {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  const auto base = reinterpret_cast<uintptr_t>(host_view_);
  if (host_view_ == nullptr || wanted < base || wanted - base >= capacity_) {
    return nullptr;
  }
  const size_t offset = wanted - base;
  auto block = blocks_.upper_bound(offset);
  if (block == blocks_.begin()) return nullptr;
  --block;
  const size_t inside = offset - block->first;
  if (inside > block->second || bytes > block->second - inside) return nullptr;
  return device_view_ + offset;
}

}  // namespace sluice::fpga_stub
