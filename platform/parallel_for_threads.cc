#include <exception>
#include <thread>
#include <vector>

#include "sluice/platform/parallel_for.h"
#include "sluice/platform/parallel_region.h"

// A weak reference: this build does not link an OpenMP library, but the
// program around it may.
extern "C" __attribute__((weak)) int omp_in_parallel();

namespace sluice::internal {

// Starts fresh threads for every loop. That is slow, and all of it is visible
// to ThreadSanitizer.
void RunOnThreads(int threads, FunctionRef<void(int index)> work) {
  std::vector<std::thread> others;
  int started = 1;
  try {
    others.reserve(threads - 1);
    for (; started < threads; ++started) {
      others.emplace_back([work, i = started] { work(i); });
    }
  } catch (const std::exception&) {
    // No thread could be started: the caller does the remaining work.
  }
  work(0);
  for (int i = started; i < threads; ++i) {
    work(i);
  }
  for (std::thread& other : others) {
    other.join();
  }
}

int LoopLimit() {
  return kMaxThreads;
}

// Libraries that need OpenMP run on the caller alone.
int TeamLimit(int /*wanted*/) {
  return 1;
}

int BeginLibraryCall(int /*threads*/) {
  return 1;
}

void EndLibraryCall(int /*threads*/, int /*previous*/) {}

bool InOpenMPRegion() {
  return omp_in_parallel != nullptr && omp_in_parallel() != 0;
}

}  // namespace sluice::internal
