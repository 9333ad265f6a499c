#pragma once

#include "sluice/python/bindings/bindings.h"

// What sluice-lab verify asks of one kernel.
namespace sluice::python {

void BindVerifying(nb::module_& m);

}  // namespace sluice::python
