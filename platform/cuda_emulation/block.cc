#include "sluice/platform/cuda_emulation/block.h"

#include <algorithm>
#include <cstdio>

#include "sluice/platform/cuda_emulation/fault.h"

namespace sluice::cuda_emulation {

void Block::SetShape(const dim3& block) {
  const int count = static_cast<int>(block.x * block.y * block.z);
  const bool same =
      count == lane_count() && block.x == shape_.x && block.y == shape_.y;
  if (same) return;
  shape_ = block;
  lanes_.assign(count, {});
  for (unsigned i = 0; i < static_cast<unsigned>(count); ++i) {
    lanes_[i].index = {i % block.x, i / block.x % block.y,
                       i / block.x / block.y};
  }
  warps_.resize((count + kWarpSize - 1) / kWarpSize);
}

void Block::Begin(const std::vector<int>& order) {
  order_ = &order;
  for (Lane& lane : lanes_) {
    lane.state = LaneState::kUnstarted;
  }
  for (Warp& warp : warps_) {
    warp = {~0U, 0};
  }
  if (lane_count() % kWarpSize != 0) {
    warps_.back().alive = (1U << lane_count() % kWarpSize) - 1;
  }
  ready_.clear();
  next_ready_ = 0;
  next_unstarted_ = done_ = arrived_ = 0;
}

int Block::NextUnstarted() {
  if (next_unstarted_ == lane_count()) return -1;
  const int lane = (*order_)[next_unstarted_++];
  lanes_[lane].state = LaneState::kRunning;
  return lane;
}

int Block::NextReady() {
  if (next_ready_ == ready_.size()) return -1;
  const int lane = ready_[next_ready_++];
  if (next_ready_ == ready_.size()) {
    ready_.clear();
    next_ready_ = 0;
  }
  return lane;
}

void Block::WakeUp(int lane) {
  lanes_[lane].state = LaneState::kRunning;
  ready_.push_back(lane);
}

void Block::Finish(int lane) {
  lanes_[lane].state = LaneState::kDone;
  ++done_;
  const int warp = lane / kWarpSize;
  warps_[warp].alive &= ~(1U << lane % kWarpSize);
  if (warps_[warp].waiting == 0) return;
  // Other lanes may have waited for this lane only.
  for (int i = 0; i < kWarpSize; ++i) {
    const int other = warp * kWarpSize + i;
    if (other < lane_count() && lanes_[other].state == LaneState::kWarp) {
      CompleteWarp(warp, lanes_[other].call, -1);
    }
  }
}

bool Block::EnterBarrier(int lane, Site site) {
  Lane& self = lanes_[lane];
  self.site = site;
  self.state = LaneState::kBarrier;
  if (++arrived_ < lane_count()) return true;
  for (int i = 0; i < lane_count(); ++i) {
    const Site& other = lanes_[i].site;
    if (other.line == site.line && other.file == site.file) continue;
    Fault(cudaErrorLaunchFailure,
          "barrier divergence: thread %d of the block waits at %s:%d, thread "
          "%d at %s:%d",
          i, other.file, other.line, lane, site.file, site.line);
  }
  arrived_ = 0;
  for (const int other : *order_) {
    if (other != lane) WakeUp(other);
  }
  self.state = LaneState::kRunning;
  return false;
}

bool Block::EnterWarp(int lane, const WarpCall& call, Site site) {
  const unsigned bit = 1U << lane % kWarpSize;
  if ((call.mask & bit) == 0) {
    Fault(cudaErrorLaunchFailure,
          "%s:%d: thread %d of the block is not in its own mask 0x%x",
          site.file, site.line, lane, call.mask);
  }
  const bool power_of_two = (call.width & (call.width - 1)) == 0;
  if (call.width <= 0 || call.width > kWarpSize || !power_of_two) {
    Fault(cudaErrorLaunchFailure, "%s:%d: a shuffle of width %d", site.file,
          site.line, call.width);
  }
  Lane& self = lanes_[lane];
  self.call = call;
  self.site = site;
  self.state = LaneState::kWarp;
  warps_[lane / kWarpSize].waiting |= bit;
  if (!CompleteWarp(lane / kWarpSize, call, lane)) return true;
  self.state = LaneState::kRunning;
  return false;
}

// Completes a warp function once every unfinished lane of the mask waits in the
// same call. Wakes up all of them but the caller. Returns whether it completed.
bool Block::CompleteWarp(int warp, const WarpCall& call, int caller) {
  const unsigned taking_part = call.mask & warps_[warp].alive;
  if ((taking_part & ~warps_[warp].waiting) != 0) return false;
  const int first = warp * kWarpSize;
  const int count = std::min(kWarpSize, lane_count() - first);
  for (int i = 0; i < count; ++i) {
    const WarpCall& other = lanes_[first + i].call;
    if ((taking_part >> i & 1) == 0) continue;
    if (other.mask != call.mask || other.op != call.op) return false;
  }
  uint64_t results[kWarpSize] = {};
  for (int i = 0; i < count; ++i) {
    if ((taking_part >> i & 1) != 0) {
      results[i] = WarpResult(first + i, taking_part);
    }
  }
  for (int i = 0; i < count; ++i) {
    if ((taking_part >> i & 1) == 0) continue;
    lanes_[first + i].call.value = results[i];
    if (first + i != caller) WakeUp(first + i);
  }
  warps_[warp].waiting &= ~taking_part;
  return true;
}

uint64_t Block::Votes(int first, unsigned mask) {
  uint64_t votes = 0;
  for (int i = 0; i < kWarpSize; ++i) {
    if ((mask >> i & 1) != 0 && lanes_[first + i].call.value != 0) {
      votes |= uint64_t{1} << i;
    }
  }
  return votes;
}

uint64_t Block::WarpResult(int lane, unsigned mask) {
  const WarpCall& call = lanes_[lane].call;
  const int self = lane % kWarpSize;
  const int first = lane - self;
  const int base = self & ~(call.width - 1);
  const int last = base + call.width - 1;
  int source = self;
  switch (call.op) {
    case WarpOp::kSync:
      return 0;
    case WarpOp::kBallot:
      return Votes(first, mask);
    case WarpOp::kIndex:
      source = base | (call.argument & (call.width - 1));
      break;
    case WarpOp::kUp:
      if (self - call.argument >= base) source = self - call.argument;
      break;
    case WarpOp::kDown:
      if (self + call.argument <= last) source = self + call.argument;
      break;
    case WarpOp::kXor:
      if ((self ^ call.argument) <= last) source = self ^ call.argument;
      break;
  }
  if ((mask >> source & 1) == 0) {
    const Site& site = lanes_[lane].site;
    Fault(cudaErrorLaunchFailure,
          "%s:%d: thread %d of the block reads from lane %d of its warp, which "
          "takes no part in the shuffle",
          site.file, site.line, lane, source);
  }
  return lanes_[first + source].call.value;
}

void Block::FaultStuck() {
  char text[1024];
  size_t used = 0;
  for (int first = 0; first < lane_count() && used < sizeof(text);) {
    const Lane& lane = lanes_[first];
    int end = first + 1;
    while (end < lane_count() && lanes_[end].state == lane.state &&
           (lane.state == LaneState::kDone ||
            (lanes_[end].site.line == lane.site.line &&
             lanes_[end].site.file == lane.site.file))) {
      ++end;
    }
    const char* what = lane.state == LaneState::kBarrier
                           ? "wait at the barrier"
                           : "wait in the warp function";
    int length = 0;
    if (lane.state == LaneState::kDone) {
      length =
          std::snprintf(text + used, sizeof(text) - used,
                        "; threads %d to %d have finished", first, end - 1);
    } else {
      length = std::snprintf(text + used, sizeof(text) - used,
                             "; threads %d to %d %s at %s:%d", first, end - 1,
                             what, lane.site.file, lane.site.line);
    }
    used += static_cast<size_t>(std::max(length, 0));
    first = end;
  }
  running.thread = -1;
  Fault(cudaErrorLaunchFailure,
        "barrier divergence: no thread of the block can go on%s", text);
}

}  // namespace sluice::cuda_emulation
