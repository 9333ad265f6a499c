#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

namespace sluice::framework {

class Scope;

enum class ScopeAccess : uint8_t { kRead, kWrite };

// Guards the values of a scope and of its parents, where variables are found
// too: readers share them, a writer has them alone. Locks go from child to
// parent, so that no two threads wait for each other. It lives in one block of
// one thread. A thread that has a lock already may take another one of the same
// scope if both read; otherwise it would wait for itself, and the constructor
// raises FailedPrecondition: this is a kernel that touches the scope of the run
// that it is part of.
class SLUICE_API ScopeLock {
 public:
  // nullptr locks nothing.
  ScopeLock(const Scope* scope, ScopeAccess access);
  ~ScopeLock();
  ScopeLock(const ScopeLock&) = delete;
  ScopeLock& operator=(const ScopeLock&) = delete;

 private:
  // The lock of this thread that has `scope`; nullptr if there is none.
  const ScopeLock* HolderOf(const Scope* scope) const;

  const Scope* first_;
  bool alone_;
  const ScopeLock* outer_;  // the one that this thread took before
};

}  // namespace sluice::framework
