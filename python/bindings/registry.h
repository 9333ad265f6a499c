#pragma once

#include "sluice/framework/op/registry.h"
#include "sluice/platform/export.h"
#include "sluice/python/bindings/bindings.h"

namespace sluice::python {

// Returns the fields of Kernel in sluice/tools.py. Needs the GIL.
SLUICE_API nb::dict ToPython(const KernelDef& kernel);

}  // namespace sluice::python
