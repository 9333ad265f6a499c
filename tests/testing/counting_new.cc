#include "tests/testing/counting_new.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<int64_t> live{0};

void* TryNew(std::size_t bytes, std::size_t alignment) noexcept {
  using sluice::internal::CountAllocation;
  using sluice::internal::Verdict;
  if (CountAllocation() != Verdict::kPass) return nullptr;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* pointer = alignment <= alignof(std::max_align_t)
                      ? std::malloc(bytes == 0 ? 1 : bytes)
                      : std::aligned_alloc(alignment, rounded);
  if (pointer != nullptr) live.fetch_add(1, std::memory_order_relaxed);
  return pointer;
}

void* New(std::size_t bytes, std::size_t alignment) {
  void* pointer = TryNew(bytes, alignment);
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}

void Delete(void* pointer) noexcept {
  if (pointer == nullptr) return;
  live.fetch_sub(1, std::memory_order_relaxed);
  std::free(pointer);
}

constexpr std::size_t kDefault = alignof(std::max_align_t);

std::size_t Of(std::align_val_t alignment) {
  return static_cast<std::size_t>(alignment);
}

}  // namespace

namespace sluice::testing {
int64_t LiveAllocations() {
  return live.load();
}
}  // namespace sluice::testing

void* operator new(std::size_t n) {
  return New(n, kDefault);
}
void* operator new[](std::size_t n) {
  return New(n, kDefault);
}
void* operator new(std::size_t n, std::align_val_t a) {
  return New(n, Of(a));
}
void* operator new[](std::size_t n, std::align_val_t a) {
  return New(n, Of(a));
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  return TryNew(n, kDefault);
}
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept {
  return TryNew(n, kDefault);
}
void* operator new(std::size_t n,
                   std::align_val_t a,
                   const std::nothrow_t&) noexcept {
  return TryNew(n, Of(a));
}
void* operator new[](std::size_t n,
                     std::align_val_t a,
                     const std::nothrow_t&) noexcept {
  return TryNew(n, Of(a));
}

void operator delete(void* p) noexcept {
  Delete(p);
}
void operator delete[](void* p) noexcept {
  Delete(p);
}
void operator delete(void* p, std::size_t) noexcept {
  Delete(p);
}
void operator delete[](void* p, std::size_t) noexcept {
  Delete(p);
}
void operator delete(void* p, std::align_val_t) noexcept {
  Delete(p);
}
void operator delete[](void* p, std::align_val_t) noexcept {
  Delete(p);
}
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  Delete(p);
}
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept {
  Delete(p);
}
void operator delete(void* p, const std::nothrow_t&) noexcept {
  Delete(p);
}
void operator delete[](void* p, const std::nothrow_t&) noexcept {
  Delete(p);
}
void operator delete(void* p,
                     std::align_val_t,
                     const std::nothrow_t&) noexcept {
  Delete(p);
}
void operator delete[](void* p,
                       std::align_val_t,
                       const std::nothrow_t&) noexcept {
  Delete(p);
}
