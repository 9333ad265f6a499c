#include "sluice/memory/block_table.h"

#include <utility>

namespace sluice {

void BlockTable::Reserve() {
  if (2 * (size_ + 1) <= capacity_) return;
  const size_t capacity = capacity_ == 0 ? 64 : 2 * capacity_;
  std::unique_ptr<Block*[]> slots(new Block* [capacity] {});
  const std::unique_ptr<Block*[]> old = std::exchange(slots_, std::move(slots));
  const size_t old_capacity = std::exchange(capacity_, capacity);
  size_ = 0;
  for (size_t i = 0; i < old_capacity; ++i) {
    if (old[i] != nullptr) Insert(old[i]);
  }
}

void BlockTable::Insert(Block* block) {
  size_t i = Home(block->pointer);
  while (slots_[i] != nullptr) {
    i = (i + 1) & (capacity_ - 1);
  }
  slots_[i] = block;
  ++size_;
}

Block* BlockTable::Find(const void* pointer) const {
  if (capacity_ == 0) return nullptr;
  size_t i = Home(pointer);
  while (slots_[i] != nullptr && slots_[i]->pointer != pointer) {
    i = (i + 1) & (capacity_ - 1);
  }
  return slots_[i];
}

void BlockTable::Erase(const Block* block) {
  const size_t mask = capacity_ - 1;
  size_t hole = Home(block->pointer);
  while (slots_[hole] != block) {
    hole = (hole + 1) & mask;
  }
  // Closes the gap: later entries move up unless their home is after the gap.
  for (size_t i = (hole + 1) & mask; slots_[i] != nullptr; i = (i + 1) & mask) {
    const size_t home = Home(slots_[i]->pointer);
    if (((i - home) & mask) >= ((i - hole) & mask)) {
      slots_[hole] = slots_[i];
      hole = i;
    }
  }
  slots_[hole] = nullptr;
  --size_;
}

}  // namespace sluice
