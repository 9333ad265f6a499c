#include "sluice/platform/cuda_emulation/grid.h"

#include <algorithm>
#include <memory>
#include <new>
#include <numeric>
#include <thread>
#include <vector>

#include <sys/mman.h>

#include "sluice/platform/cuda_emulation/block.h"
#include "sluice/platform/cuda_emulation/fault.h"
#include "sluice/platform/cuda_emulation/fiber.h"
#include "sluice/platform/cuda_emulation/pages.h"
#include "sluice/platform/cuda_emulation/shared_memory.h"

uint3 threadIdx;
uint3 blockIdx;
dim3 blockDim;
dim3 gridDim;

namespace sluice::cuda_emulation {
namespace {

constexpr size_t kStackBytes = size_t{64} << 10;

uint64_t Mix(uint64_t x) {  // splitmix64
  x += 0x9E3779B97F4A7C15;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

// A fiber runs threads of a block one after another until one of them has to
// wait. So a kernel without barriers needs a single fiber.
class GridRunner {
 public:
  GridRunner();

  void Run(const KernelCall& call);
  bool active() const { return call_ != nullptr; }
  [[noreturn]] void Leave();
  bool IsStackGuard(const void* address) const;

  void SyncBlock(Site site) {
    if (block_.EnterBarrier(lane_, site)) Wait();
  }
  uint64_t CallWarp(const WarpCall& call, Site site) {
    const int lane = lane_;
    if (block_.EnterWarp(lane, call, site)) Wait();
    return block_.lane(lane).call.value;
  }
  SharedMemory& shared() { return shared_; }

 private:
  static void Entry();
  [[noreturn]] void Work();
  void Wait();
  void GoOn(int self);
  void Become(int lane);
  int IdleFiber();
  void RunBlock(uint64_t index);
  uint64_t OrderBlock(uint64_t index, uint64_t count);

  const KernelCall* call_ = nullptr;
  Block block_;
  SharedMemory shared_;
  std::vector<int> order_;
  uint64_t seed_ = 0;
  int lane_ = -1;
  bool failed_ = false;

  char* stacks_ = nullptr;
  std::vector<Fiber> fibers_;
  std::vector<int> idle_;
  int current_ = -1;  // -1: the stack that called Run
  Fiber caller_;
  std::thread::id thread_;
};

GridRunner& Runner() {
  static auto* runner = new GridRunner;
  return *runner;
}

GridRunner::GridRunner() {
  void* stacks =
      mmap(nullptr, kMaxThreads * (kStackBytes + kPage), PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stacks == MAP_FAILED) throw std::bad_alloc();
  stacks_ = static_cast<char*>(stacks);
  fibers_.reserve(kMaxThreads);
}

void GridRunner::Entry() {
  Runner().Work();
}

// Threads that can continue run before those that have not started: a warp gets
// as far ahead of the others as its barriers allow.
void GridRunner::Work() {
  const int self = current_;
  for (;;) {
    const int lane = block_.HasReady() ? -1 : block_.NextUnstarted();
    if (lane >= 0) {
      Become(lane);
      call_->run();
      block_.Finish(lane);
    } else {
      idle_.push_back(self);
      GoOn(self);
    }
  }
}

void GridRunner::Become(int lane) {
  lane_ = lane;
  threadIdx = block_.lane(lane).index;
  running.thread = lane;
}

void GridRunner::Wait() {
  block_.lane(lane_).fiber = current_;
  GoOn(current_);
}

// Switches from fiber `self` (-1 for the caller's stack) to the next fiber.
void GridRunner::GoOn(int self) {
  const int ready = block_.NextReady();
  if (ready >= 0) {
    Become(ready);
    current_ = block_.lane(ready).fiber;
  } else if (block_.HasUnstarted()) {
    current_ = IdleFiber();
  } else if (block_.AllDone()) {
    current_ = -1;
  } else {
    block_.FaultStuck();
  }
  if (current_ == self) return;
  Fiber* from = self < 0 ? &caller_ : &fibers_[self];
  SwitchFiber(from, current_ < 0 ? &caller_ : &fibers_[current_]);
}

int GridRunner::IdleFiber() {
  if (idle_.empty()) {
    const size_t index = fibers_.size();
    char* guard = stacks_ + index * (kStackBytes + kPage);
    mprotect(guard, kPage, PROT_NONE);
    Fiber& fiber = fibers_.emplace_back();
    fiber.stack = guard + kPage;
    // Offsets avoid that hot lines of all stacks share a few cache sets.
    fiber.stack_bytes = kStackBytes - index % 32 * 128;
    PrepareFiber(&fiber, &Entry);
    return static_cast<int>(index);
  }
  const int fiber = idle_.back();
  idle_.pop_back();
  return fiber;
}

void GridRunner::RunBlock(uint64_t index) {
  const dim3& grid = call_->grid;
  blockIdx = {static_cast<unsigned>(index % grid.x),
              static_cast<unsigned>(index / grid.x % grid.y),
              static_cast<unsigned>(index / grid.x / grid.y)};
  block_.Begin(order_);
  shared_.BeginBlock();
  current_ = -1;
  GoOn(-1);
  running.thread = -1;
  if (!failed_) shared_.EndBlock();
}

// Returns which block runs as number `index`; kShuffle shuffles its threads.
uint64_t GridRunner::OrderBlock(uint64_t index, uint64_t count) {
  switch (GetOptions().order) {
    case ThreadOrder::kForward:
      return index;
    case ThreadOrder::kReverse:
      return count - 1 - index;
    case ThreadOrder::kShuffle:
      break;
  }
  for (size_t i = order_.size() - 1; i > 0; --i) {
    seed_ = Mix(seed_);
    std::swap(order_[i], order_[seed_ % (i + 1)]);
  }
  return (index + GetOptions().seed) % count;
}

void GridRunner::Run(const KernelCall& call) {
  if (thread_ != std::this_thread::get_id()) {
    // A fiber can continue only on the thread on which it began.
    thread_ = std::this_thread::get_id();
    idle_.clear();
    for (size_t i = 0; i < fibers_.size(); ++i) {
      PrepareFiber(&fibers_[i], &Entry);
      idle_.push_back(static_cast<int>(i));
    }
  }
  blockDim = call.block;
  gridDim = call.grid;
  order_.resize(size_t{call.block.x} * call.block.y * call.block.z);
  std::iota(order_.begin(), order_.end(), 0);
  if (GetOptions().order == ThreadOrder::kReverse) {
    std::reverse(order_.begin(), order_.end());
  }
  seed_ = GetOptions().seed;
  const uint64_t blocks = uint64_t{call.grid.x} * call.grid.y * call.grid.z;
  block_.SetShape(call.block);
  shared_.BeginGrid(call.shared_bytes);
  call_ = &call;
  failed_ = false;
  for (uint64_t i = 0; i < blocks && !failed_; ++i) {
    RunBlock(OrderBlock(i, blocks));
  }
  call_ = nullptr;
  if (failed_) {
    thread_ = {};  // the fibers are in undefined states
    throw FaultRaised();
  }
}

void GridRunner::Leave() {
  failed_ = true;
  const int self = current_;
  current_ = -1;
  if (self < 0) {
    call_ = nullptr;
    throw FaultRaised();
  }
  LeaveFiber(&fibers_[self], &caller_);
}

bool GridRunner::IsStackGuard(const void* address) const {
  const auto* byte = static_cast<const char*>(address);
  const char* end = stacks_ + kMaxThreads * (kStackBytes + kPage);
  if (byte < stacks_ || byte >= end) return false;
  return static_cast<size_t>(byte - stacks_) % (kStackBytes + kPage) < kPage;
}

}  // namespace

void RunGrid(const KernelCall& call) {
  Runner().Run(call);
}

bool InGrid() {
  return Runner().active();
}

void LeaveGrid() {
  Runner().Leave();
}

bool IsStackGuard(const void* address) {
  return Runner().IsStackGuard(address);
}

bool IsSharedGuard(const void* address) {
  return Runner().shared().IsGuard(address);
}

void SyncBlock(Site site) {
  Runner().SyncBlock(site);
}

uint64_t CallWarp(const WarpCall& call, Site site) {
  return Runner().CallWarp(call, site);
}

void* SharedArray(const void* key,
                  const char* name,
                  size_t bytes,
                  size_t alignment) {
  return Runner().shared().Array(key, name, bytes, alignment);
}

void* DynamicShared() {
  return Runner().shared().dynamic();
}

}  // namespace sluice::cuda_emulation
