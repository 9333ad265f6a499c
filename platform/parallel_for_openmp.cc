#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <dlfcn.h>

#include "sluice/platform/diagnostics/logging.h"
#include "sluice/platform/parallel_region.h"
#include "sluice/platform/plugin/kernel_module.h"

// libgomp keeps a pool for every thread that ever opened a region, so many
// callers would keep many idle threads. They are counted here, and a caller
// that exceeds MaxIdleThreads() ends its own pool after the region.
namespace sluice::internal {
namespace {

// Loads the libgomp of the process, else the system's, else that of Sluice's
// own package. The latter has a folder of its own: beside libsluice.so the
// linker would find it before the system's, which may be newer and which
// libraries that the process loads later may need. Idle threads of libgomp spin
// for some 5 ms, which is longer than a tick of the scheduler: if another
// process is busy, a region then takes two ticks, 8 ms, whatever it computes. A
// libgomp that is loaded here spins for some 20 us, unless the user sets
// another time. libgomp reads the variable once, when it is loaded.
void* LoadLibgomp() {
  constexpr const char* kSpin = "GOMP_SPINCOUNT";
  const bool said = std::getenv(kSpin) != nullptr ||
                    std::getenv("OMP_WAIT_POLICY") != nullptr;
  if (!said) setenv(kSpin, "1000", 1);
  void* library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const std::string packed = LibraryFolder() + "/sluice_openmp/libgomp.so.1";
    library = dlopen(packed.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (!said) unsetenv(kSpin);
  return library;
}

// The OpenMP functions used here. `parallel` is what g++ generates for a
// parallel region: it calls body(data) on each thread of a team.
struct OpenMP {
  OpenMP() noexcept {
    // A libgomp that the program itself links is used as it is.
    void* library = RTLD_DEFAULT;
    if (dlsym(library, "GOMP_parallel") == nullptr) {
      library = LoadLibgomp();
      if (library == nullptr) return;
    }
    is_there = true;
    Find(library, "GOMP_parallel", &parallel);
    Find(library, "omp_get_dynamic", &get_dynamic);
    Find(library, "omp_get_initial_device", &get_initial_device);
    Find(library, "omp_get_max_threads", &get_max_threads);
    Find(library, "omp_get_num_threads", &get_num_threads);
    Find(library, "omp_get_thread_limit", &get_thread_limit);
    Find(library, "omp_get_thread_num", &get_thread_num);
    Find(library, "omp_in_parallel", &in_parallel);
    Find(library, "omp_pause_resource", &pause_resource);
    Find(library, "omp_set_dynamic", &set_dynamic);
    Find(library, "omp_set_num_threads", &set_num_threads);
    if (is_there) limit = get_thread_limit();
  }

  bool is_there = false;
  int limit = 1;  // OMP_THREAD_LIMIT, read when libgomp is loaded
  void (*parallel)(void (*body)(void*),
                   void* data,
                   unsigned threads,
                   unsigned flags) = nullptr;
  int (*get_dynamic)() = nullptr;
  int (*get_initial_device)() = nullptr;
  int (*get_max_threads)() = nullptr;
  int (*get_num_threads)() = nullptr;
  int (*get_thread_limit)() = nullptr;
  int (*get_thread_num)() = nullptr;
  int (*in_parallel)() = nullptr;
  int (*pause_resource)(int kind, int device) = nullptr;
  void (*set_dynamic)(int) = nullptr;
  void (*set_num_threads)(int) = nullptr;

 private:
  template <typename Function>
  void Find(void* library, const char* name, Function* function) {
    *function = reinterpret_cast<Function>(dlsym(library, name));
    if (*function == nullptr) is_there = false;
  }
};

// Initialized when libsluice is loaded, when most programs have one thread:
// setenv would race with threads that read the environment.
const OpenMP kOmp;

// Returns whether regions can have threads; logs once why they cannot.
bool HasThreads() {
  if (kOmp.is_there) return true;
  static std::once_flag said;
  std::call_once(said, [] {
    try {
      Log(LogLevel::kWarning,
          "libgomp.so.1 cannot be loaded (Debian: libgomp1), so that every "
          "kernel runs on one thread");
    } catch (const std::exception&) {
      // A loop does not fail because there is no memory for this line.
    }
  });
  return false;
}

std::atomic<int> idle_threads{0};

// Idle threads in the calling thread's pool. libgomp keeps the last team
// without its master, and ends it when the calling thread ends.
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

// libgomp ends the process when it cannot start a thread. Starting as many
// threads here first shows safely whether the system still allows it.
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

// With dynamic adjustment libgomp would choose team sizes by machine load.
class FixedTeamSize {
 public:
  FixedTeamSize() : dynamic_(kOmp.get_dynamic()) {
    if (dynamic_ != 0) kOmp.set_dynamic(0);
  }
  ~FixedTeamSize() {
    if (dynamic_ != 0) kOmp.set_dynamic(dynamic_);
  }
  FixedTeamSize(const FixedTeamSize&) = delete;
  FixedTeamSize& operator=(const FixedTeamSize&) = delete;

 private:
  int dynamic_;
};

// Called after a region with `threads` threads.
void CountOwnPool(int threads) {
  if (own_pool.Set(threads - 1) <= MaxIdleThreads()) return;
  constexpr int kSoft = 1;  // omp_pause_soft
  if (kOmp.pause_resource(kSoft, kOmp.get_initial_device()) == 0) {
    own_pool.Set(0);
  }
}

struct Region {
  int threads;
  FunctionRef<void(int index)> work;
};

// The body of one thread of a region. The team may be smaller than requested,
// e.g. because of OMP_THREAD_LIMIT.
void RunShare(void* data) {
  const Region& region = *static_cast<Region*>(data);
  const int team = kOmp.get_num_threads();
  for (int i = kOmp.get_thread_num(); i < region.threads; i += team) {
    region.work(i);
  }
}

bool CanHaveThreads(int others) {
  return HasThreads() && (others <= own_pool.size() || CanStartThreads(others));
}

}  // namespace

void RunOnThreads(int threads, FunctionRef<void(int index)> work) {
  if (!CanHaveThreads(threads - 1)) {
    for (int i = 0; i < threads; ++i) {
      work(i);
    }
    return;
  }
  FixedTeamSize fixed;
  Region region{threads, work};
  kOmp.parallel(RunShare, &region, static_cast<unsigned>(threads), 0);
  CountOwnPool(threads);
}

int LoopLimit() {
  return HasThreads() ? kOmp.limit : 1;
}

int TeamLimit(int wanted) {
  return std::min(wanted, kOmp.limit);
}

int BeginLibraryCall(int threads) {
  if (!kOmp.is_there) return 1;
  if (!CanHaveThreads(threads - 1)) return 0;
  const int previous = kOmp.get_max_threads();
  if (threads > 1 && kOmp.get_dynamic() != 0) kOmp.set_dynamic(0);
  kOmp.set_num_threads(threads);
  return previous;
}

void EndLibraryCall(int threads, int previous) {
  if (!kOmp.is_there) return;
  kOmp.set_num_threads(previous);
  if (threads > 1) CountOwnPool(threads);
}

bool InOpenMPRegion() {
  return kOmp.is_there && kOmp.in_parallel() != 0;
}

}  // namespace sluice::internal
