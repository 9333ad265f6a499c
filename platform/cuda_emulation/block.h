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
  WarpCall call{};  // the call it waits in, or waited in last
  Site site{};
  uint3 index{};
  int fiber = -1;  // the fiber it waits on
};

// The state of one block: its lanes, barrier and warps. It does not use fibers,
// but says which lane may continue. A mistake of the kernel ends in Fault.
class Block {
 public:
  // Called before a grid: sets the lanes of each block.
  void SetShape(const dim3& block);
  // Called before each block. Lanes start, and continue after a barrier, in
  // `order`, which must outlive the block.
  void Begin(const std::vector<int>& order);

  int lane_count() const { return static_cast<int>(lanes_.size()); }
  Lane& lane(int index) { return lanes_[index]; }
  bool AllDone() const { return done_ == lane_count(); }
  bool HasReady() const { return next_ready_ < ready_.size(); }
  bool HasUnstarted() const { return next_unstarted_ < lane_count(); }

  // Returns a lane that now starts, or -1.
  int NextUnstarted();
  // Returns a lane that waited and now continues, or -1.
  int NextReady();

  void Finish(int lane);
  // True when the lane must wait for others.
  bool EnterBarrier(int lane, Site site);
  bool EnterWarp(int lane, const WarpCall& call, Site site);

  // Called when no lane can continue: reports which lane waits where.
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
