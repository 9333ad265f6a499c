#pragma once

#include <cstddef>

namespace sluice::cuda_emulation {

// A thread of control with its own stack, on one host thread. A
// default-constructed one represents the caller's stack.
struct Fiber {
  void* context = nullptr;
  const void* stack = nullptr;  // its lowest address
  size_t stack_bytes = 0;
  void* asan_stack = nullptr;
  void* tsan_fiber = nullptr;
};

// Makes `fiber` begin with entry(), which never returns, at the first switch to
// it. `stack` and `stack_bytes` must be set.
void PrepareFiber(Fiber* fiber, void (*entry)());

// Switches to `to`; returns when another fiber switches back to `from`.
void SwitchFiber(Fiber* from, Fiber* to);

// Switches to `to` for good: no fiber may switch back to `from`.
[[noreturn]] void LeaveFiber(Fiber* from, Fiber* to);

}  // namespace sluice::cuda_emulation
