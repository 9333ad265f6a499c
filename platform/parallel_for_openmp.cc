#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include <omp.h>
#include <pthread.h>

#include "sluice/platform/parallel_region.h"

// libgomp keeps a pool for every thread that ever opened a region, so many
// callers would keep many idle threads. They are counted here, and a caller
// that goes over MaxIdleThreads() ends its own pool after the region.
namespace sluice::platform::internal {
namespace {

std::atomic<int> idle_threads{0};

// The idle threads of the calling thread's pool, as libgomp keeps them: the
// last team without its master, ended when the calling thread ends.
class OwnPool {
 public:
  ~OwnPool() { Set(0); }
  int size() const { return size_; }
  int Set(int size) {
    const int change = size - size_;
    size_ = size;
    return idle_threads.fetch_add(change, std::memory_order_relaxed) + change;
  }

 private:
  int size_ = 0;
};

thread_local OwnPool own_pool;

// libgomp ends the process when it cannot start a thread. Starting as many of
// our own first tells, with nothing lost, whether the system still allows it.
bool CanStartThreads(int count) {
  std::mutex mutex;
  std::condition_variable go;
  bool done = false;
  std::vector<std::thread> probes;
  bool started = true;
  try {
    probes.reserve(count);
    for (int i = 0; i < count; ++i) {
      probes.emplace_back([&] {
        std::unique_lock<std::mutex> lock(mutex);
        go.wait(lock, [&] { return done; });
      });
    }
  } catch (const std::exception&) {
    started = false;
  }
  {
    std::lock_guard<std::mutex> lock(mutex);
    done = true;
  }
  go.notify_all();
  for (std::thread& probe : probes) {
    probe.join();
  }
  return started;
}

// With dynamic adjustment libgomp would look at the load of the machine.
class FixedTeamSize {
 public:
  FixedTeamSize() : dynamic_(omp_get_dynamic()) {
    if (dynamic_ != 0) omp_set_dynamic(0);
  }
  ~FixedTeamSize() {
    if (dynamic_ != 0) omp_set_dynamic(dynamic_);
  }
  FixedTeamSize(const FixedTeamSize&) = delete;
  FixedTeamSize& operator=(const FixedTeamSize&) = delete;

 private:
  int dynamic_;
};

// After a region with `threads` threads.
void CountOwnPool(int threads) {
  if (own_pool.Set(threads - 1) <= MaxIdleThreads()) return;
  if (omp_pause_resource(omp_pause_soft, omp_get_initial_device()) == 0) {
    own_pool.Set(0);
  }
}

}  // namespace

void RunOnThreads(int threads, FunctionRef<void(int index)> work) {
  if (threads - 1 > own_pool.size() && !CanStartThreads(threads - 1)) {
    for (int i = 0; i < threads; ++i) {
      work(i);
    }
    return;
  }
  FixedTeamSize fixed;
#pragma omp parallel num_threads(threads)
  {
    // OMP_THREAD_LIMIT and the like may give a smaller team.
    const int team = omp_get_num_threads();
    for (int i = omp_get_thread_num(); i < threads; i += team) {
      work(i);
    }
  }
  CountOwnPool(threads);
}

int TeamLimit(int wanted) {
  return std::min(wanted, omp_get_thread_limit());
}

int BeginLibraryCall(int threads) {
  if (threads - 1 > own_pool.size() && !CanStartThreads(threads - 1)) return 0;
  const int previous = omp_get_max_threads();
  if (threads > 1 && omp_get_dynamic() != 0) omp_set_dynamic(0);
  omp_set_num_threads(threads);
  return previous;
}

void EndLibraryCall(int threads, int previous) {
  omp_set_num_threads(previous);
  if (threads > 1) CountOwnPool(threads);
}

bool InOpenMPRegion() {
  return omp_in_parallel() != 0;
}

}  // namespace sluice::platform::internal
