#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace sluice::fpga_stub {

// Fills `bytes` at `to` with a pattern that reads as NaN in every floating
// type and as an absurd number in every other.
void FillWithPoison(void* to, size_t bytes);

// The memory of one device. It is one memory file mapped twice: the addresses
// that the host is given have no access rights, so a stray dereference ends in
// a fault at once, and the device itself works through the second mapping.
// Not synchronised: the device's lock is held.
class DeviceMemory {
 public:
  explicit DeviceMemory(size_t capacity);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  size_t capacity() const { return capacity_; }

  // A block full of poison, aligned to 64 bytes; null when there is no room
  // for it within `limit` bytes in use.
  void* Allocate(size_t bytes, size_t limit);
  // False when `address` is not that of a block.
  bool Free(void* address);

  // Where the device finds [address, address + bytes); null unless the whole
  // range lies in one block.
  char* Find(const void* address, size_t bytes) const;

 private:
  bool Map();
  // The offset of the first gap of that size, or the capacity.
  size_t FindGap(size_t bytes) const;

  const size_t capacity_;
  int file_ = -1;
  char* host_view_ = nullptr;    // no access
  char* device_view_ = nullptr;  // the same bytes, readable and writable
  size_t in_use_ = 0;
  std::map<size_t, size_t> blocks_;  // offset to size
};

}  // namespace sluice::fpga_stub
