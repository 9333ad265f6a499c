#include "sluice/platform/cancel.h"

#include "sluice/platform/error.h"

namespace sluice {

namespace {

std::atomic<bool> g_all_cancelled{false};
thread_local const CancelFlag* t_flag = nullptr;

// A signal handler may call it: no locks.
void Store(bool requested, std::atomic<bool>* flag) {
  if (flag->exchange(requested) != requested) {
    internal::cancel_requests += requested ? 1 : -1;
  }
}

}  // namespace

namespace internal {
std::atomic<int> cancel_requests{0};

bool ThisThreadIsCancelled() {
  return g_all_cancelled.load(std::memory_order_relaxed) ||
         (t_flag != nullptr && t_flag->requested());
}
}  // namespace internal

void SetCancelRequested(bool requested) {
  Store(requested, &g_all_cancelled);
}

void CheckCancelled() {
  SLUICE_ENFORCE(!CancelRequested(), ErrorCode::kFailedPrecondition,
                 "run.cancelled", "the run was cancelled");
}

void CancelFlag::Set(bool requested) {
  Store(requested, &requested_);
}

CancelGuard::CancelGuard(const CancelFlag* flag) : outer_(t_flag) {
  t_flag = flag;
}

CancelGuard::~CancelGuard() {
  t_flag = outer_;
}

}  // namespace sluice
