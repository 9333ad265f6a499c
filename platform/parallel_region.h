#pragma once

#include "sluice/platform/function_ref.h"

// What ParallelFor needs from a threading library. One of
// parallel_for_openmp.cc and parallel_for_threads.cc is built, by choice of
// CMake; for use by parallel_for.cc alone.
namespace sluice::platform::internal {

// Calls work(i) once for every i in [0, threads) on up to `threads` threads,
// the caller being one, and returns when all are done. `work` must not throw.
// When the system gives fewer threads, those there are share the work.
void RunOnThreads(int threads, FunctionRef<void(int index)> work);

// True on a thread that runs in a parallel region of an OpenMP library,
// whoever opened it.
bool InOpenMPRegion();

// How many of `wanted` threads a region can have.
int TeamLimit(int wanted);

// Between these two, regions that a library opens on this thread have
// `threads` threads. Begin returns what End needs, or 0, having done nothing,
// when the system does not give so many.
int BeginLibraryCall(int threads);
void EndLibraryCall(int threads, int previous);

// Threads that libraries keep idle for all callers together stay at or below
// this (a caller above it ends its own after each loop).
int MaxIdleThreads();

}  // namespace sluice::platform::internal
