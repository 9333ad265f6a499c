#pragma once

#include "sluice/platform/function_ref.h"

// The interface of parallel_for.cc to a threading library. CMake builds either
// parallel_for_openmp.cc or parallel_for_threads.cc.
namespace sluice::internal {

// Calls work(i) once for every i in [0, threads) on up to `threads` threads,
// the caller being one, and returns when all are done. `work` must not throw.
// If the system starts fewer threads, those share the work.
void RunOnThreads(int threads, FunctionRef<void(int index)> work);

// Returns whether the thread runs in a parallel region of an OpenMP library,
// Sluice's or the user's.
bool InOpenMPRegion();

// Returns the most threads that RunOnThreads can have: fewer under
// OMP_THREAD_LIMIT; 1 without libgomp, which the first call logs.
int LoopLimit();

// Returns how many of `wanted` threads a library's region can have.
int TeamLimit(int wanted);

// Between these calls, regions that a library opens on this thread have
// `threads` threads. Begin returns the argument for End, or 0, without effect,
// when the system cannot start that many.
int BeginLibraryCall(int threads);
void EndLibraryCall(int threads, int previous);

// The limit for idle threads that libraries keep for all callers together (a
// caller above it ends its own after each loop).
int MaxIdleThreads();

}  // namespace sluice::internal
