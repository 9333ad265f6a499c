#include "sluice/framework/values/scope_lock.h"

#include "sluice/framework/values/scope.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {
thread_local const ScopeLock* t_innermost_lock = nullptr;
}  // namespace

ScopeLock::ScopeLock(const Scope* scope, ScopeAccess access)
    : first_(scope),
      alone_(access == ScopeAccess::kWrite),
      outer_(t_innermost_lock) {
  for (const Scope* each = first_; each != nullptr; each = each->parent()) {
    const ScopeLock* holder = HolderOf(each);
    SLUICE_ENFORCE(
        holder == nullptr || (!alone_ && !holder->alone_),
        ErrorCode::kFailedPrecondition, "scope.own_run",
        "scope: cannot {} variables in a kernel of a run that {} the same "
        "scope: expected another scope, or the same call after the run",
        alone_ ? "change" : "read", holder->alone_ ? "changes" : "reads");
  }
  for (const Scope* each = first_; each != nullptr; each = each->parent()) {
    if (HolderOf(each) != nullptr) continue;
    alone_ ? each->lock().lock() : each->lock().lock_shared();
  }
  t_innermost_lock = this;
}

ScopeLock::~ScopeLock() {
  t_innermost_lock = outer_;
  for (const Scope* each = first_; each != nullptr; each = each->parent()) {
    if (HolderOf(each) != nullptr) continue;
    alone_ ? each->lock().unlock() : each->lock().unlock_shared();
  }
}

const ScopeLock* ScopeLock::HolderOf(const Scope* scope) const {
  for (const ScopeLock* lock = outer_; lock != nullptr; lock = lock->outer_) {
    for (const Scope* each = lock->first_; each != nullptr;
         each = each->parent()) {
      if (each == scope) return lock;
    }
  }
  return nullptr;
}

}  // namespace sluice
