#include "sluice/framework/plan/arena_pool.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "sluice/framework/plan/frame.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/memory/allocator.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

// Plans of growing sizes follow each other: a block that grows has up to an
// eighth to spare, so that it does not grow with each of them.
size_t WithRoom(size_t bytes) {
  const size_t step = std::max<size_t>(std::bit_floor(bytes) / 8, 1);
  return (bytes + step - 1) / step * step;
}

}  // namespace

std::unique_ptr<Frame> ArenaPool::FindIdle(const Plan& plan) {
  Frames& idle = plan.idle_frames_;
  // The last one is the one used last.
  const auto found = std::find_if(idle.rbegin(), idle.rend(), [](auto& frame) {
    return frame->block() == nullptr || !frame->block()->used;
  });
  if (found == idle.rend()) return nullptr;
  std::unique_ptr<Frame> frame = std::move(*found);
  idle.erase(std::prev(found.base()));
  return frame;
}

// Returns an unused block for `bytes`: the smallest that is large enough, or
// else the largest, which is to be allocated anew; the frames that have it are
// moved to `outgrown`.
ArenaPool::Block* ArenaPool::Reserve(size_t bytes, Frames* outgrown) {
  Block* best = nullptr;
  for (Block& block : blocks_) {
    if (block.used) continue;
    const bool better = best == nullptr ||
                        (best->bytes < bytes ? block.bytes > best->bytes
                                             : block.bytes >= bytes &&
                                                   block.bytes < best->bytes);
    if (better) best = &block;
  }
  if (best == nullptr) best = &blocks_.emplace_back();
  best->used = true;
  if (best->bytes >= bytes) return best;
  const bool grows = best->bytes > 0;
  best->bytes = grows ? WithRoom(bytes) : bytes;
  if (most_ > 0) best->bytes = std::max(bytes, std::min(best->bytes, most_));
  for (const Plan* plan : plans_) {
    Frames& idle = plan->idle_frames_;
    for (auto& frame : idle) {
      if (frame->block() != best) continue;
      outgrown->push_back(std::move(frame));
      --plan->frames_;
    }
    std::erase(idle, nullptr);
  }
  return best;
}

// Gives a block that is in use the memory that was reserved.
void ArenaPool::Allocate(Block* block) {
  if (block->memory != nullptr && block->memory->bytes() >= block->bytes) {
    return;
  }
  if (block->memory != nullptr) {
    // The allocator could not reuse it for this larger request.
    const size_t outgrown = block->memory->bytes();
    block->memory = nullptr;
    ReleaseCache(CPUPlace(), outgrown);
  }
  block->memory = MemoryFor(CPUPlace(), block->bytes);
}

std::unique_ptr<Frame> ArenaPool::Take(const Plan& plan) {
  Frames outgrown;  // ends without the mutex
  Block* block = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (auto frame = FindIdle(plan)) {
      if (frame->block() != nullptr) frame->block()->used = true;
      return frame;
    }
    // So that GiveBack cannot fail.
    ++plan.frames_;
    plan.idle_frames_.reserve(plan.frames_);
    plans_.insert(&plan);
    const size_t bytes = plan.SharedBytes();
    if (bytes > 0) block = Reserve(bytes, &outgrown);
  }
  outgrown.clear();
  try {
    if (block != nullptr) Allocate(block);
    return std::make_unique<Frame>(plan, block);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    --plan.frames_;
    if (block != nullptr) {
      block->used = false;
      if (block->memory == nullptr) block->bytes = 0;
    }
    throw;
  }
}

void ArenaPool::GiveBack(const Plan& plan, std::unique_ptr<Frame> frame) {
  const std::lock_guard lock(mutex_);
  if (frame->block() != nullptr) frame->block()->used = false;
  plan.idle_frames_.push_back(std::move(frame));
}

void ArenaPool::Forget(const Plan& plan) {
  const std::lock_guard lock(mutex_);
  plans_.erase(&plan);
}

size_t ArenaPool::bytes() const {
  const std::lock_guard lock(mutex_);
  size_t bytes = 0;
  for (const Block& block : blocks_) {
    bytes += block.bytes;
  }
  return bytes;
}

size_t ArenaPool::FramesOf(const Plan& plan) const {
  const std::lock_guard lock(mutex_);
  return plan.frames_;
}

std::shared_ptr<Placeholder> ArenaPool::MemoryFor(PlaceKey place,
                                                  size_t bytes) {
  try {
    return std::make_shared<Placeholder>(place, bytes);
  } catch (Error& error) {
    error.AddContext("for all values that ops hand to each other");
    throw;
  }
}

}  // namespace sluice
