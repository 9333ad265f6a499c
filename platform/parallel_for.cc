#include "sluice/platform/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>

#include <pthread.h>

#include "sluice/platform/cpu/cpu_info.h"
#include "sluice/platform/error.h"
#include "sluice/platform/library_call.h"
#include "sluice/platform/parallel_region.h"

namespace sluice {
namespace {

std::atomic<int> default_count{0};  // 0: the number of CPUs
thread_local int guard_count = 0;   // 0: no guard on this thread
thread_local bool in_shard = false;

std::atomic<bool> ran_parallel{false};
std::atomic<bool> forked_after_run{false};

int DefaultThreads() {
  int count = default_count.load(std::memory_order_relaxed);
  return count > 0 ? count : std::min(AvailableCpus(), kMaxThreads);
}

int MaxBusyThreads() {
  return std::max(DefaultThreads(), AvailableCpus());
}

void NoteParallelRun() {
  if (ran_parallel.load(std::memory_order_acquire)) return;
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(nullptr, nullptr, [] {
      forked_after_run.store(true, std::memory_order_relaxed);
    });
    ran_parallel.store(true, std::memory_order_release);
  });
}

// Admits callers in order of arrival while their threads fit into
// MaxBusyThreads(). A caller that needs more than that is admitted alone.
class Gate {
 public:
  void Enter(int threads) {
    std::unique_lock<std::mutex> lock(mutex_);
    const unsigned long ticket = next_ticket_++;
    changed_.wait(lock, [&] {
      return ticket == serving_ &&
             (busy_ == 0 || busy_ + threads <= MaxBusyThreads());
    });
    ++serving_;
    busy_ += threads;
    if (serving_ != next_ticket_) changed_.notify_all();
  }

  void Leave(int threads) {
    std::lock_guard<std::mutex> lock(mutex_);
    busy_ -= threads;
    if (serving_ != next_ticket_) changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned long next_ticket_ = 0;
  unsigned long serving_ = 0;
  int busy_ = 0;
};

Gate& TheGate() {
  // Never destroyed: detached user threads may still be in a loop at exit.
  static Gate* gate = new Gate;
  return *gate;
}

class GatePass {
 public:
  explicit GatePass(int threads) : threads_(threads) {
    TheGate().Enter(threads);
  }
  ~GatePass() { TheGate().Leave(threads_); }
  GatePass(const GatePass&) = delete;
  GatePass& operator=(const GatePass&) = delete;

 private:
  int threads_;
};

class InShard {
 public:
  InShard() : previous_(in_shard) { in_shard = true; }
  ~InShard() { in_shard = previous_; }
  InShard(const InShard&) = delete;
  InShard& operator=(const InShard&) = delete;

 private:
  bool previous_;
};

// Keeps the exception of the lowest shard that threw.
class FirstError {
 public:
  bool SkipsShard(int shard) const {
    return shard > shard_.load(std::memory_order_relaxed);
  }

  void Record(int shard) noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    if (shard >= shard_.load(std::memory_order_relaxed)) return;
    shard_.store(shard, std::memory_order_relaxed);
    error_ = std::current_exception();
  }

  void Rethrow() {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::atomic<int> shard_{kMaxThreads};
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

int NumThreads() {
  if (in_shard) return 1;
  const int wanted = guard_count > 0 ? guard_count : DefaultThreads();
  return wanted > 1 ? std::min(wanted, internal::LoopLimit()) : wanted;
}

void SetNumThreads(int count) {
  SLUICE_ENFORCE(count >= 0 && count <= kMaxThreads,
                 ErrorCode::kInvalidArgument, "threads.set_range",
                 "SetNumThreads: count must be in [0, {}], got {}", kMaxThreads,
                 count);
  default_count.store(count, std::memory_order_relaxed);
}

ThreadCountGuard::ThreadCountGuard(int count) : previous_(guard_count) {
  SLUICE_ENFORCE(count >= 1 && count <= kMaxThreads,
                 ErrorCode::kInvalidArgument, "threads.guard_range",
                 "ThreadCountGuard: count must be in [1, {}], got {}",
                 kMaxThreads, count);
  guard_count = count;
}

ThreadCountGuard::~ThreadCountGuard() {
  guard_count = previous_;
}

bool InCallersParallelRegion() {
  return !in_shard && internal::InOpenMPRegion();
}

bool ForkedAfterParallelRun() {
  return forked_after_run.load(std::memory_order_relaxed);
}

int LibraryThreads(int wanted) {
  return internal::TeamLimit(wanted);
}

LibraryCall::LibraryCall(int threads) : threads_(threads) {
  if (threads > 1) {
    SLUICE_ENFORCE(!in_shard && !internal::InOpenMPRegion(),
                   ErrorCode::kFailedPrecondition, "library_call.nested",
                   "a library call with {} threads inside of a parallel region",
                   threads);
    SLUICE_ENFORCE(!ForkedAfterParallelRun(), ErrorCode::kFailedPrecondition,
                   "library_call.forked",
                   "a library call with {} threads in a process forked off one "
                   "that had run in parallel",
                   threads);
    NoteParallelRun();
    TheGate().Enter(threads);
  }
  previous_threads_ = internal::BeginLibraryCall(threads);
  const bool started = previous_threads_ > 0;
  if (!started && threads > 1) TheGate().Leave(threads);
  SLUICE_ENFORCE(
      started, ErrorCode::kResourceExhausted, "library_call.threads",
      "a library call wants {} threads, and the system does not start them",
      threads);
}

LibraryCall::~LibraryCall() {
  internal::EndLibraryCall(threads_, previous_threads_);
  if (threads_ > 1) TheGate().Leave(threads_);
}

namespace internal {

int MaxIdleThreads() {
  return std::max(8, 2 * MaxBusyThreads());
}

void ParallelForMany(int64_t total,
                     int64_t grain,
                     FunctionRef<void(int64_t, int64_t)> body) {
  grain = std::max<int64_t>(grain, 1);
  const int64_t units = total / grain + (total % grain != 0 ? 1 : 0);
  const int threads = NumThreads();
  const int shards = static_cast<int>(std::min<int64_t>(units, threads));
  if (shards <= 1 || ForkedAfterParallelRun() || InOpenMPRegion()) {
    if (total > 0) body(0, total);
    return;
  }

  FirstError error;
  auto run_shard = [&](int shard) {
    if (shard >= shards || error.SkipsShard(shard)) return;
    InShard mark;
    const int64_t each = units / shards, rest = units % shards;
    const int64_t first = shard * each + std::min<int64_t>(shard, rest);
    const int64_t last = first + each + (shard < rest ? 1 : 0);
    try {
      body(first * grain, shard + 1 == shards ? total : last * grain);
    } catch (...) {
      error.Record(shard);
    }
  };
  {
    NoteParallelRun();
    GatePass pass(threads);
    // All threads take part even when there are fewer shards: libgomp ends and
    // restarts threads whenever the size of a team changes.
    RunOnThreads(threads, run_shard);
  }
  error.Rethrow();
}

}  // namespace internal
}  // namespace sluice
