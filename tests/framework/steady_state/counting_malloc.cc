#include "tests/framework/steady_state/counting_malloc.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <string_view>

#include <dlfcn.h>
#include <execinfo.h>

// glibc's internal names of its allocator.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* pointer, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace {

constexpr int kFrames = 24;
constexpr size_t kCallers = 64;

// Nothing here may allocate, because it runs within malloc.
struct Caller {
  std::atomic<const char*> file{nullptr};
  std::atomic<int64_t> count{0};
};
std::array<Caller, kCallers> g_callers;
std::atomic<bool> g_counting{false};
// NOLINTNEXTLINE(readability-identifier-naming)
thread_local bool counting_this = false;

std::string_view BaseName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

bool IsRuntime(std::string_view file) {
  for (const char* name : {"libc.so", "libstdc++.so", "libm.so", "ld-linux"}) {
    if (file.find(name) != std::string_view::npos) return true;
  }
  return false;
}

const char* CallerOfMalloc() {
  void* frames[kFrames];
  const int count = backtrace(frames, kFrames);
  Dl_info here{};
  for (int i = 3; i < count; ++i) {  // skips this function, Note and malloc
    if (dladdr(frames[i], &here) == 0 || here.dli_fname == nullptr) continue;
    if (!IsRuntime(BaseName(here.dli_fname))) return here.dli_fname;
  }
  return "nobody";
}

[[gnu::noinline]] void Note() {
  if (!g_counting.load(std::memory_order_relaxed) || counting_this) return;
  counting_this = true;
  const char* file = CallerOfMalloc();
  for (Caller& caller : g_callers) {
    const char* none = nullptr;
    // Each library has one file name, at a fixed address.
    if (caller.file.compare_exchange_strong(none, file) || none == file) {
      ++caller.count;
      break;
    }
  }
  counting_this = false;
}

}  // namespace

extern "C" {

[[gnu::noinline]] void* malloc(size_t bytes) {
  Note();
  return __libc_malloc(bytes);
}
[[gnu::noinline]] void* calloc(size_t count, size_t bytes) {
  Note();
  return __libc_calloc(count, bytes);
}
[[gnu::noinline]] void* realloc(void* pointer, size_t bytes) {
  Note();
  return __libc_realloc(pointer, bytes);
}
[[gnu::noinline]] void* memalign(size_t alignment, size_t bytes) {
  Note();
  return __libc_memalign(alignment, bytes);
}
[[gnu::noinline]] void* aligned_alloc(size_t alignment, size_t bytes) {
  Note();
  return __libc_memalign(alignment, bytes);
}
[[gnu::noinline]] int posix_memalign(void** pointer,
                                     size_t alignment,
                                     size_t bytes) {
  Note();
  void* const found = __libc_memalign(alignment, bytes);
  if (found == nullptr) return ENOMEM;
  *pointer = found;
  return 0;
}

}  // extern "C"

namespace sluice::testing {

CountMallocs::CountMallocs() {
  void* frame[1];
  backtrace(frame, 1);  // loads what it needs
  for (Caller& caller : g_callers) {
    caller.file = nullptr;
    caller.count = 0;
  }
  g_counting = true;
}

CountMallocs::~CountMallocs() {
  g_counting = false;
}

std::map<std::string, int64_t> CountMallocs::Stop() {
  g_counting = false;
  std::map<std::string, int64_t> mallocs;
  for (const Caller& caller : g_callers) {
    if (caller.file == nullptr) continue;
    mallocs[std::string(BaseName(caller.file.load()))] += caller.count;
  }
  return mallocs;
}

int64_t Ours(const std::map<std::string, int64_t>& mallocs) {
  int64_t ours = 0;
  for (const auto& [file, count] : mallocs) {
    if (file.find("sluice") != std::string::npos || file == "nobody") {
      ours += count;
    }
  }
  return ours;
}

}  // namespace sluice::testing
