#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

namespace sluice {

class Scope;

enum class ScopeAccess : uint8_t { kRead, kWrite };

// Guards the values of a scope and of its parents: readers share them, a writer
// has exclusive access. Locks are acquired from child to parent, which prevents
// deadlocks. It lives in one block of one thread. A thread that has a lock may
// acquire another one of the same scope if both read. Otherwise it would wait
// for itself, and the constructor raises FailedPrecondition: a kernel has
// accessed the scope of its own run.
class SLUICE_API ScopeLock {
 public:
  // nullptr locks nothing.
  ScopeLock(const Scope* scope, ScopeAccess access);
  ~ScopeLock();
  ScopeLock(const ScopeLock&) = delete;
  ScopeLock& operator=(const ScopeLock&) = delete;

 private:
  // Returns this thread's lock of `scope`; nullptr if there is none.
  const ScopeLock* HolderOf(const Scope* scope) const;

  const Scope* first_;
  bool alone_;
  const ScopeLock* outer_;  // this thread's previous lock
};

}  // namespace sluice
