#pragma once

#include <csignal>
#include <fstream>

#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>

namespace sluice::testing {

// During its lifetime, this process may not use more of a resource (RLIMIT_*),
// and writing a longer file fails with EFBIG. Create it inside of the failing
// call, so that the test's own output is not affected.
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

// The size of this process's address space in bytes, which RLIMIT_AS limits.
inline rlim_t AddressSpace() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

// The address sanitizer needs much address space, and ends the process without
// it.
inline bool AddressSpaceCanBeLimited() {
  return dlsym(RTLD_DEFAULT, "__asan_init") == nullptr;
}

}  // namespace sluice::testing
