#pragma once

#include <cstddef>
#include <map>
#include <vector>

namespace sluice::cuda_emulation {

struct Allocation {
  char* first_page;
  char* data;
  char* end_page;  // followed by a page without access
  size_t bytes;
  size_t usable;  // bytes in use; the rest is a red zone
  int number;
  int access = 0;  // PROT_ bits, while running work uses it
};

// The memory of the device. Every allocation has its own pages, without access
// until the running work touches them: the signal handler calls Touch, and the
// pages stay open until CloseAll. A page that is never opened follows each
// allocation; the gap before it is a red zone, which CloseAll checks. Addresses
// are never reused. Not synchronised.
class DeviceMemory {
 public:
  // Reserves the address range, once; returns false if the process may not.
  bool Reserve();
  // Returns nullptr when there is no room within `limit` bytes.
  char* Allocate(size_t bytes, size_t limit);
  // Returns false when `pointer` is no allocation.
  bool Free(void* pointer);
  bool SetUsable(void* pointer, size_t bytes);

  size_t in_use() const { return in_use_; }
  // Returns whether the address belongs to the device, allocated or not.
  bool Contains(const void* address) const;

  // Opens the pages of `address` for the running work, or faults.
  void Touch(const void* address, bool write);
  // Opens all of [address, address + bytes) before a copy.
  void Open(const void* address, size_t bytes, bool write);
  // Called after a piece of work: removes access from all memory it used.
  // Faults if it wrote to a red zone.
  void CloseAll();

  // Writes e.g. "byte 40 of allocation 3, which has 40 bytes" into `text`.
  void Describe(const void* address, char* text, size_t size) const;

 private:
  Allocation* Find(const void* address);
  const Allocation* Find(const void* address) const;
  void Grant(Allocation* allocation, int access);
  // Returns the first overwritten byte of the red zone, or nullptr.
  static const char* Damage(const Allocation& allocation);

  char* region_ = nullptr;
  char* next_ = nullptr;
  size_t in_use_ = 0;
  int count_ = 0;
  std::map<const char*, Allocation> allocations_;  // by first page
  std::vector<Allocation*> open_;
};

// The memory of the one device. The runtime's lock must be held.
DeviceMemory& Memory();

}  // namespace sluice::cuda_emulation
