#include "sluice/platform/cancel.h"

#include "sluice/platform/error.h"

namespace sluice {

namespace internal {
std::atomic<bool> cancel_requested{false};
}  // namespace internal

void SetCancelRequested(bool requested) {
  internal::cancel_requested.store(requested, std::memory_order_relaxed);
}

void CheckCancelled() {
  SLUICE_ENFORCE(!CancelRequested(), ErrorCode::kFailedPrecondition,
                 "run.cancelled", "the run was cancelled");
}

}  // namespace sluice
