#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sluice/platform/cuda_emulation/control.h"
#include "sluice/platform/cuda_emulation/device_code.h"

namespace sluice::cuda_emulation {

inline constexpr int kWarpSize = 32;
inline constexpr int kMaxThreads = 1024;

enum class LaneState : uint8_t { kUnstarted, kRunning, kBarrier, kWarp, kDone };

// One thread of a block.
struct Lane {
  LaneState state = LaneState::kUnstarted;
  WarpCall call{};  // what it waits in, or waited in last
  Site site{};
  uint3 index{};
  int fiber = -1;  // that it waits on
};

// What one block waits for: its lanes, barrier and warps. Knows nothing of
// fibers: it says who may go on. A mistake of the kernel ends in Fault.
class Block {
 public:
  // Before a grid: the lanes that each of its blocks has.
  void SetShape(const dim3& block);
  // Before each block. `order`, which has to stay, is that in which lanes
  // start, and go on after a barrier.
  void Begin(const std::vector<int>& order);

  int lane_count() const { return static_cast<int>(lanes_.size()); }
  Lane& lane(int index) { return lanes_[index]; }
  bool AllDone() const { return done_ == lane_count(); }
  bool HasReady() const { return next_ready_ < ready_.size(); }
  bool HasUnstarted() const { return next_unstarted_ < lane_count(); }

  // A lane that has not started and starts now, or -1.
  int NextUnstarted();
  // A lane that waited and goes on now, or -1.
  int NextReady();

  void Finish(int lane);
  // True when the lane must wait for others.
  bool EnterBarrier(int lane, Site site);
  bool EnterWarp(int lane, const WarpCall& call, Site site);

  // Nobody can go on: says who waits where.
  [[noreturn]] void FaultStuck();

 private:
  struct Warp {
    unsigned alive = 0;    // not finished
    unsigned waiting = 0;  // in a warp function
  };

  void WakeUp(int lane);
  bool CompleteWarp(int warp, const WarpCall& call, int caller);
  uint64_t WarpResult(int lane, unsigned mask);
  uint64_t Votes(int first, unsigned mask);

  std::vector<Lane> lanes_;
  std::vector<Warp> warps_;
  dim3 shape_;
  const std::vector<int>* order_ = nullptr;
  std::vector<int> ready_;
  size_t next_ready_ = 0;
  int next_unstarted_ = 0;
  int done_ = 0;
  int arrived_ = 0;
};

}  // namespace sluice::cuda_emulation
