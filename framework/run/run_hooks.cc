#include "sluice/framework/run/run_hooks.h"

#include <atomic>

namespace sluice::framework {

namespace {

std::atomic<RunHooks*> g_hooks{nullptr};

}  // namespace

RunHooks::~RunHooks() = default;

void SetRunHooks(RunHooks* hooks) {
  g_hooks = hooks;
}

RunHooks* ActiveRunHooks() {
  return g_hooks.load(std::memory_order_acquire);
}

}  // namespace sluice::framework
