#pragma once

#include <cstdint>

#include "sluice/platform/export.h"
#include "sluice/platform/function_ref.h"

// The only thread pool of the process. Every kernel's loop over many elements
// goes through ParallelFor; nothing else in Sluice starts compute threads. The
// pool is libgomp's (shared with oneDNN). Builds for ThreadSanitizer, which
// cannot see through libgomp, use plain std::thread.
namespace sluice {

// SetNumThreads and ThreadCountGuard accept 1 to kMaxThreads.
inline constexpr int kMaxThreads = 1024;

// Returns the number of threads of a ParallelFor on this thread: 1 inside a
// shard, else that of the innermost ThreadCountGuard, else that of
// SetNumThreads, else the CPUs that the process may use (see AvailableCpus);
// never more than OMP_THREAD_LIMIT, and 1 where libgomp cannot be loaded.
SLUICE_API int NumThreads();

// Sets the process-wide default; 0 returns to the number of CPUs. Raises
// InvalidArgument outside [0, kMaxThreads]. Callable from any thread, but plans
// keep the count that they were prepared with.
SLUICE_API void SetNumThreads(int count);

// Fixes NumThreads() of the calling thread for the guard's life; guards nest.
// Raises InvalidArgument outside [1, kMaxThreads].
class SLUICE_API ThreadCountGuard {
 public:
  explicit ThreadCountGuard(int count);
  ~ThreadCountGuard();
  ThreadCountGuard(const ThreadCountGuard&) = delete;
  ThreadCountGuard& operator=(const ThreadCountGuard&) = delete;

 private:
  int previous_;
};

// True inside a parallel region of the user's own OpenMP code, where Sluice
// would get no threads; false in Sluice's own shards.
SLUICE_API bool InCallersParallelRegion();

// True in a process forked off one in which a parallel loop had already run:
// its worker threads are gone, so ParallelFor is serial here. A fork before
// the first parallel loop is harmless.
SLUICE_API bool ForkedAfterParallelRun();

namespace internal {
SLUICE_API void ParallelForMany(int64_t total,
                                int64_t grain,
                                FunctionRef<void(int64_t, int64_t)> body);
}  // namespace internal

// The usual grain, for loops of a few operations an element: with fewer
// elements, another thread costs more than it saves.
inline constexpr int64_t kGrain = 32768;

// Calls body(begin, end) for disjoint ranges that cover [0, total), at most
// NumThreads() of them and at the same time. Ranges depend only on total, grain
// and NumThreads(); each begins at a multiple of `grain` (values below 1 mean
// 1). With one range, body runs on the caller and no thread is woken: that
// costs a comparison. Loops inside a shard run serially, in one range.
//
// The call returns when every range is done. If bodies throw, the exception of
// the lowest range reaches the caller; higher ranges may be left out then.
// Callers on many threads share a budget of max(CPUs, SetNumThreads) busy
// threads and wait their turn, so a body must not wait for another thread's
// ParallelFor.
inline void ParallelFor(int64_t total,
                        int64_t grain,
                        FunctionRef<void(int64_t begin, int64_t end)> body) {
  if (total <= grain || total == 1) {
    if (total > 0) body(0, total);
    return;
  }
  internal::ParallelForMany(total, grain, body);
}

}  // namespace sluice
