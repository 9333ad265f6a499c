#pragma once

#include <nanobind/nanobind.h>

#include "sluice/framework/op/registry.h"
#include "sluice/platform/export.h"

namespace sluice::python {

// Returns the fields of Kernel in sluice/tools.py. Needs the GIL.
SLUICE_API nanobind::dict ToPython(const KernelDef& kernel);

}  // namespace sluice::python
