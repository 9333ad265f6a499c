#pragma once

#include "sluice/platform/export.h"

// For kernels of libraries that open OpenMP regions of their own (oneDNN).
// Their threads come from ParallelFor's pool and count against its budget.
namespace sluice {

// Returns how many of `wanted` threads such a library can have: fewer under
// OMP_THREAD_LIMIT, 1 in a build without OpenMP. Call it when the kernel is
// prepared: some libraries fix their shards then.
SLUICE_API int LibraryThreads(int wanted);

// While a guard exists, an OpenMP region of this thread has exactly `threads`
// threads. The constructor waits for its turn as ParallelFor does. With more
// than one thread it raises FailedPrecondition inside of a parallel region and
// in a forked child (regions would get one thread there, which a library that
// fixed its shards would not notice), and ResourceExhausted when the system
// does not start the threads. Guards do not nest.
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

}  // namespace sluice
