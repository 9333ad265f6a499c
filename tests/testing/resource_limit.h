#pragma once

#include <csignal>
#include <fstream>

#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>

namespace sluice::testing {

// While it lives, this process may have no more of a resource (RLIMIT_*), and
// writing a file that would be longer fails with EFBIG. A test makes it inside
// of the call that fails, so that what it says itself is not in need.
class ResourceLimit {
 public:
  ResourceLimit(__rlimit_resource resource, rlim_t most)
      : resource_(resource), previous_signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(resource, &previous_);
    const rlimit limit{most, previous_.rlim_max};
    setrlimit(resource, &limit);
  }
  ~ResourceLimit() {
    setrlimit(resource_, &previous_);
    std::signal(SIGXFSZ, previous_signal_);
  }
  ResourceLimit(const ResourceLimit&) = delete;
  ResourceLimit& operator=(const ResourceLimit&) = delete;

 private:
  __rlimit_resource resource_;
  rlimit previous_{};
  void (*previous_signal_)(int);
};

// The address space that this process has, in bytes: what RLIMIT_AS limits.
inline rlim_t AddressSpace() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

// The address sanitizer needs address space of its own, and ends the process
// where there is none.
inline bool AddressSpaceCanBeLimited() {
  return dlsym(RTLD_DEFAULT, "__asan_init") == nullptr;
}

}  // namespace sluice::testing
