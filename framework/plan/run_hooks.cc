#include "sluice/framework/plan/run_hooks.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <new>
#include <utility>

#include "sluice/framework/plan/run_observer.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

using HookList = std::vector<RunHooks*>;

// Readers take no lock: a list never changes, and is kept when the next
// replaces it.
std::mutex g_mutex;
std::atomic<const HookList*> g_hooks{nullptr};

}  // namespace

FrameHooks::~FrameHooks() = default;
PlanHooks::~PlanHooks() = default;
ProgramRun::~ProgramRun() = default;
RunHooks::~RunHooks() = default;

std::unique_ptr<RunObserver> RunHooks::Observe(const Plan& /*plan*/) {
  return nullptr;
}

void AddRunHooks(RunHooks* hooks) {
  static std::deque<HookList> lists;
  const std::lock_guard lock(g_mutex);
  const auto active = ActiveRunHooks();
  if (std::find(active.begin(), active.end(), hooks) != active.end()) return;
  lists.emplace_back(active.begin(), active.end()).push_back(hooks);
  g_hooks.store(&lists.back(), std::memory_order_release);
}

std::span<RunHooks* const> ActiveRunHooks() {
  const HookList* hooks = g_hooks.load(std::memory_order_acquire);
  if (hooks == nullptr) return {};
  return *hooks;
}

BegunRun::BegunRun(const Program& program) {
  for (RunHooks* hooks : ActiveRunHooks()) {
    auto run = CallHooks(hooks->name(), [&] { return hooks->Begin(program); });
    if (run != nullptr) runs_.push_back(std::move(run));
  }
}

void BegunRun::Failed(std::string_view why) noexcept {
  for (const auto& run : runs_) {
    run->Failed(why);
  }
}

void RethrowInHooks(std::string_view name) {
  try {
    throw;
  } catch (Error& error) {
    error.AddContext(Format("in the run hooks of {}", name));
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    Raise(ErrorCode::kInternal, "run_hooks.foreign",
          "the run hooks of {} raised \"{}\"", name, error.what());
  } catch (...) {
    Raise(ErrorCode::kInternal, "run_hooks.unknown",
          "the run hooks of {} raised what is no std::exception", name);
  }
}

}  // namespace sluice
