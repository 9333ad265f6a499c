#pragma once

#include <cstddef>

namespace sluice::cuda_emulation {

// A thread of control with a stack of its own, on one host thread. The default
// one stands for the stack that the caller is on.
struct Fiber {
  void* context = nullptr;
  const void* stack = nullptr;  // its lowest address
  size_t stack_bytes = 0;
  void* asan_stack = nullptr;
  void* tsan_fiber = nullptr;
};

// Lets `fiber` begin with entry(), which never returns, when it is switched to
// for the first time. `stack` and `stack_bytes` are set.
void PrepareFiber(Fiber* fiber, void (*entry)());

// Goes on in `to`, and returns when somebody switches back to `from`.
void SwitchFiber(Fiber* from, Fiber* to);

// The same when nobody will ever switch back.
[[noreturn]] void LeaveFiber(Fiber* from, Fiber* to);

}  // namespace sluice::cuda_emulation
