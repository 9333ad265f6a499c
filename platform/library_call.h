#pragma once

#include "sluice/platform/export.h"

// For kernels of libraries that open OpenMP regions of their own (oneDNN).
// Their threads come from the pool that ParallelFor uses, and count as its.
namespace sluice::platform {

// How many of `wanted` threads such a library can have here: fewer where
// OMP_THREAD_LIMIT says so, 1 in a build without OpenMP. To be asked when the
// kernel is prepared: some libraries fix their shards then.
SLUICE_API int LibraryThreads(int wanted);

// While it lives, an OpenMP region opened by this thread gets `threads`
// threads, no more and no fewer. Waits for its turn as ParallelFor does.
// With more than one thread it raises FailedPrecondition inside of a parallel
// region and in a forked child (regions would get one thread there, which a
// library that fixed its shards would not notice), and ResourceExhausted when
// the system does not give the threads. Guards do not nest.
class SLUICE_API LibraryCall {
 public:
  explicit LibraryCall(int threads);
  ~LibraryCall();
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;

 private:
  int threads_;
  int previous_threads_;
};

}  // namespace sluice::platform
