#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "sluice/framework/values/tensor.h"

namespace sluice {

class Frame;
class Plan;

// The host memory in which plans keep the values that ops hand to each other
// (Plan::arenas). The plans of an executor share it: a run takes a block that
// no other run uses, so that there are as many blocks as runs at once, each as
// large as the largest plan that had it. It also keeps the frames of plans
// between runs: one that has a block which grows ends. Thread-safe.
class ArenaPool {
 public:
  // A block that grows has some bytes to spare, but no more than `most` in all;
  // 0: any number.
  explicit ArenaPool(size_t most = 0) : most_(most) {}

  // Memory that one run uses at a time.
  struct Block {
    std::shared_ptr<Placeholder> memory;
    size_t bytes = 0;
    bool used = false;
  };

  // Returns a frame of the plan that no run uses, with its block.
  std::unique_ptr<Frame> Take(const Plan& plan);
  void GiveBack(const Plan& plan, std::unique_ptr<Frame> frame);
  // The plan ends; its frames are not used.
  void Forget(const Plan& plan);
  // The bytes of all blocks.
  size_t bytes() const;
  // The number of frames of a plan.
  size_t FramesOf(const Plan& plan) const;

  // Memory for all values of a plan at a place. Raises ResourceExhausted.
  static std::shared_ptr<Placeholder> MemoryFor(PlaceKey place, size_t bytes);

 private:
  using Frames = std::vector<std::unique_ptr<Frame>>;

  std::unique_ptr<Frame> FindIdle(const Plan& plan);
  Block* Reserve(size_t bytes, Frames* outgrown);
  void Allocate(Block* block);

  const size_t most_;
  mutable std::mutex mutex_;
  std::list<Block> blocks_;
  std::unordered_set<const Plan*> plans_;  // that may have idle frames
};

}  // namespace sluice
