#include "sluice/framework/program/internal_ops.h"

namespace sluice {

namespace {
thread_local int t_guards = 0;
}  // namespace

InternalOpsGuard::InternalOpsGuard() {
  ++t_guards;
}

InternalOpsGuard::~InternalOpsGuard() {
  --t_guards;
}

bool InternalOpsAllowed() {
  return t_guards > 0;
}

}  // namespace sluice
