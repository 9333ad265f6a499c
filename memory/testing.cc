#include "sluice/memory/testing.h"

#include <atomic>
#include <cstring>

namespace sluice {
namespace {

// These are plain atomics because operator new uses them, where nothing may
// allocate or need construction.
std::atomic<bool> counting{false};
std::atomic<int64_t> count{0};
std::atomic<int64_t> fail_at{0};
std::atomic<FailMode> fail_mode{FailMode::kOnce};
std::atomic<bool> fill_fresh_memory{false};

}  // namespace

void FailAllocation(int64_t k, FailMode mode) {
  counting.store(false);
  count.store(0);
  fail_at.store(k);
  fail_mode.store(mode);
  counting.store(true);
}

void CancelFailAllocation() {
  counting.store(false);
}

int64_t AllocationCount() {
  return count.load();
}

void SetFillFreshMemory(bool fill) {
  fill_fresh_memory.store(fill);
}

namespace internal {

Verdict CountAllocation() noexcept {
  if (!counting.load(std::memory_order_relaxed)) return Verdict::kPass;
  const int64_t number = count.fetch_add(1) + 1;
  const int64_t k = fail_at.load();
  if (k == 0 || number < k) return Verdict::kPass;
  if (fail_mode.load() == FailMode::kFromKOn) return Verdict::kFail;
  return number == k ? Verdict::kFailOnce : Verdict::kPass;
}

bool FillFreshMemory() noexcept {
  return fill_fresh_memory.load(std::memory_order_relaxed);
}

void FillWithPoison(void* pointer, size_t bytes) noexcept {
  auto* to = static_cast<unsigned char*>(pointer);
  for (; bytes >= sizeof(kPoison); bytes -= sizeof(kPoison)) {
    std::memcpy(to, &kPoison, sizeof(kPoison));
    to += sizeof(kPoison);
  }
  std::memcpy(to, &kPoison, bytes);
}

}  // namespace internal
}  // namespace sluice
