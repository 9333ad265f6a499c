#pragma once

#include "sluice/python/bindings/bindings.h"

// Kernels that are Python functions (sluice/python_kernels.py).
namespace sluice::python {

void BindKernels(nb::module_& m);

// Whether a Python kernel was registered. If so, no run may hold the GIL while
// it waits for a lock: the lock's holder may wait for the GIL.
bool HasPythonKernels();

// Returns the exception that a Python kernel raised in this thread's last
// failed run, if `check_id` belongs to such an error, and forgets it.
nb::object TakeKernelException(std::string_view check_id);

}  // namespace sluice::python
