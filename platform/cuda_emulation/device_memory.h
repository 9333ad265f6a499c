#pragma once

#include <cstddef>
#include <map>
#include <vector>

namespace sluice::cuda_emulation {

struct Allocation {
  char* first_page;
  char* data;
  char* end_page;  // a page that nobody may touch follows
  size_t bytes;
  size_t usable;  // of them; the rest is a red zone
  int number;
  int access = 0;  // PROT_ bits, while work that uses it runs
};

// The memory of the device. Every allocation has pages of its own that nobody
// may touch, until the work that runs does: the signal handler asks Touch, and
// the pages stay open until CloseAll. An allocation ends at a page that stays
// closed; what lies between its end and that page is a red zone that CloseAll
// looks at. Addresses are never used twice. Not synchronised.
class DeviceMemory {
 public:
  // Sets addresses aside, once; false when the process may not have so many.
  bool Reserve();
  // nullptr when there is no room within `limit` bytes.
  char* Allocate(size_t bytes, size_t limit);
  // False when `pointer` is no allocation.
  bool Free(void* pointer);
  bool SetUsable(void* pointer, size_t bytes);

  size_t in_use() const { return in_use_; }
  // Whether the address is the device's, allocated or not.
  bool Contains(const void* address) const;

  // Lets the work that runs use `address`, or faults when it may not.
  void Touch(const void* address, bool write);
  // The same for all of [address, address + bytes), before a copy.
  void Open(const void* address, size_t bytes, bool write);
  // After a piece of work: nobody may touch what it used. Faults when it wrote
  // outside of it.
  void CloseAll();

  // "byte 40 of allocation 3, which has 40 bytes"; into `text`.
  void Describe(const void* address, char* text, size_t size) const;

 private:
  Allocation* Find(const void* address);
  const Allocation* Find(const void* address) const;
  void Grant(Allocation* allocation, int access);
  // The first byte of the red zone that somebody wrote to, or nullptr.
  static const char* Damage(const Allocation& allocation);

  char* region_ = nullptr;
  char* next_ = nullptr;
  size_t in_use_ = 0;
  int count_ = 0;
  std::map<const char*, Allocation> allocations_;  // by first page
  std::vector<Allocation*> open_;
};

// The one device's; the runtime's lock is held for all of it.
DeviceMemory& Memory();

}  // namespace sluice::cuda_emulation
