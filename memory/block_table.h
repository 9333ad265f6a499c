#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "sluice/platform/export.h"

namespace sluice {

// One piece of memory from the system, in use or cached.
struct Block {
  void* pointer;
  size_t bytes;      // size of the system's memory
  size_t requested;  // size that the user requested; 0 while cached
  Block* next;       // next block in its cache list
  bool cached;
};

// Maps a pointer to its Block. The table is separate from the memory because
// the host may be unable to read a header before the pointer. Open addressing
// with linear probing, at most half full. Not thread-safe; owns no Block.
class SLUICE_API BlockTable {
 public:
  // Makes room for one more block, so that the next Insert cannot fail. If it
  // throws std::bad_alloc, nothing has changed.
  void Reserve();

  void Insert(Block* block);
  // Returns the block that starts at `pointer`, or nullptr.
  Block* Find(const void* pointer) const;
  void Erase(const Block* block);

  size_t size() const { return size_; }

  template <typename Visitor>
  void ForEach(Visitor visitor) const {
    for (size_t i = 0; i < capacity_; ++i) {
      if (slots_[i] != nullptr) visitor(slots_[i]);
    }
  }

 private:
  size_t Home(const void* pointer) const {
    const auto bits = reinterpret_cast<uintptr_t>(pointer) >> 6;
    return (bits * 0x9E3779B97F4A7C15u >> 20) & (capacity_ - 1);
  }

  std::unique_ptr<Block*[]> slots_;
  size_t capacity_ = 0;  // a power of two, or 0
  size_t size_ = 0;
};

}  // namespace sluice
