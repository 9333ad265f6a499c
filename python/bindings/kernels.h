#pragma once

#include "sluice/python/bindings/bindings.h"

// Kernels that are Python functions (sluice/python_kernels.py).
namespace sluice::python {

void BindKernels(nb::module_& m);

// Whether one was registered: then no run may keep the GIL while it waits for a
// lock, because the run that holds the lock may wait for the GIL.
bool HasPythonKernels();

// The exception that a Python kernel raised in this thread's last failing run,
// if `check_id` is that of such an error; then it is forgotten.
nb::object TakeKernelException(std::string_view check_id);

}  // namespace sluice::python
