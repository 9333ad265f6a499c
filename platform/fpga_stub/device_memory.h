#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace sluice::fpga_stub {

// Fills `bytes` at `to` with a pattern that reads as NaN in every floating type
// and as an absurd number in every other.
void FillWithPoison(void* to, size_t bytes);

// The memory of one device. It is one memory file mapped twice: the addresses
// that the host gets have no access rights, so a stray dereference faults at
// once; the device uses the second mapping. Not synchronised: the device's lock
// must be held.
class DeviceMemory {
 public:
  explicit DeviceMemory(size_t capacity);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  size_t capacity() const { return capacity_; }

  // Returns a poisoned block, aligned to 64 bytes, or null if `limit` bytes in
  // use would be exceeded.
  void* Allocate(size_t bytes, size_t limit);
  // Returns false when `address` is not the start of a block.
  bool Free(void* address);

  // Translates the device address range [address, address + bytes); returns
  // null unless one block contains all of it.
  char* Find(const void* address, size_t bytes) const;

 private:
  bool Map();
  // Returns the offset of the first gap of at least `bytes`, or the capacity.
  size_t FindGap(size_t bytes) const;

  const size_t capacity_;
  int file_ = -1;
  char* host_view_ = nullptr;    // no access
  char* device_view_ = nullptr;  // the same bytes, readable and writable
  size_t in_use_ = 0;
  std::map<size_t, size_t> blocks_;  // offset to size
};

}  // namespace sluice::fpga_stub
