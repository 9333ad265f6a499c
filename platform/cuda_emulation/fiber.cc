#include "sluice/platform/cuda_emulation/fiber.h"

#include <cstdlib>

#include <boost/context/detail/fcontext.hpp>

#if defined(__SANITIZE_ADDRESS__)
#define SLUICE_FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLUICE_FIBER_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define SLUICE_FIBER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SLUICE_FIBER_TSAN 1
#endif
#endif

#ifdef SLUICE_FIBER_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef SLUICE_FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace sluice::cuda_emulation {
namespace {

namespace context = boost::context::detail;

// The entry of the next new fiber; make_fcontext cannot pass an argument.
void (*next_entry)() = nullptr;

// Runs on the new stack after a switch: notifies the sanitizers, and stores
// where the old fiber continues.
void Arrive(Fiber* self, context::transfer_t from) {
  auto* left = static_cast<Fiber*>(from.data);
  left->context = from.fctx;
#ifdef SLUICE_FIBER_ASAN
  const void* stack = nullptr;
  size_t bytes = 0;
  __sanitizer_finish_switch_fiber(self == nullptr ? nullptr : self->asan_stack,
                                  &stack, &bytes);
  left->stack = stack;
  left->stack_bytes = bytes;
#else
  static_cast<void>(self);
#endif
}

void Start(context::transfer_t from) {
  Arrive(nullptr, from);
  next_entry();
  std::abort();  // an entry does not return
}

context::transfer_t Jump(Fiber* from, Fiber* to, bool for_good) {
#ifdef SLUICE_FIBER_ASAN
  __sanitizer_start_switch_fiber(for_good ? nullptr : &from->asan_stack,
                                 to->stack, to->stack_bytes);
#else
  static_cast<void>(for_good);
#endif
#ifdef SLUICE_FIBER_TSAN
  from->tsan_fiber = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to->tsan_fiber, 0);
#endif
  return context::jump_fcontext(to->context, from);
}

}  // namespace

void PrepareFiber(Fiber* fiber, void (*entry)()) {
  next_entry = entry;
  auto* bottom = static_cast<char*>(const_cast<void*>(fiber->stack));
  fiber->context = context::make_fcontext(bottom + fiber->stack_bytes,
                                          fiber->stack_bytes, &Start);
  fiber->asan_stack = nullptr;
#ifdef SLUICE_FIBER_TSAN
  if (fiber->tsan_fiber == nullptr) {
    fiber->tsan_fiber = __tsan_create_fiber(0);
  }
#endif
}

void SwitchFiber(Fiber* from, Fiber* to) {
  Arrive(from, Jump(from, to, false));
}

void LeaveFiber(Fiber* from, Fiber* to) {
  Jump(from, to, true);
  std::abort();  // no fiber switches back
}

}  // namespace sluice::cuda_emulation
