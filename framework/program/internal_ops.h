#pragma once

#include "sluice/platform/export.h"

namespace sluice {

// While one exists, this thread may append ops to programs that otherwise only
// passes create: to run a section of a plan by itself. Such a program is
// prepared without passes.
class SLUICE_API InternalOpsGuard {
 public:
  InternalOpsGuard();
  ~InternalOpsGuard();
  InternalOpsGuard(const InternalOpsGuard&) = delete;
  InternalOpsGuard& operator=(const InternalOpsGuard&) = delete;
};

// Whether this thread has such a guard.
SLUICE_API bool InternalOpsAllowed();

}  // namespace sluice
