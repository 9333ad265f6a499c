#include "sluice/platform/ranks/collective_context.h"

#include <utility>

#include "sluice/platform/error.h"

namespace sluice {

namespace {
[[noreturn]] void RaiseCopy() {
  Raise(ErrorCode::kInternal, "collective_context.copy",
        "a queue of collectives cannot copy");
}
}  // namespace

Place CollectiveContext::GetPlace() const {
  return CPUPlace{};
}

void CollectiveContext::CopyFromHost(void* /*device*/,
                                     const void* /*host*/,
                                     size_t /*bytes*/) {
  RaiseCopy();
}

void CollectiveContext::CopyToHost(void* /*host*/,
                                   const void* /*device*/,
                                   size_t /*bytes*/) {
  RaiseCopy();
}

void CollectiveContext::CopyOnDevice(void* /*to*/,
                                     const void* /*from*/,
                                     size_t /*bytes*/) {
  RaiseCopy();
}

void CollectiveContext::Wait() {
  // Waits in start order. Each collective is waited for once, also if that
  // fails.
  for (size_t next = 0; next < started_.size(); ++next) {
    try {
      World::Get().Wait(started_[next]);
    } catch (...) {
      started_.clear();
      throw;
    }
  }
  started_.clear();
}

std::unique_ptr<DeviceContext> NewCollectiveContext() {
  return std::make_unique<CollectiveContext>();
}

}  // namespace sluice
