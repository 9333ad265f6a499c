#pragma once

#include <nanobind/nanobind.h>

// The extension sluice._lab: conversions for the laboratory. It loads the
// extension sluice._core and uses its conversions.
namespace sluice::python {

namespace nb = nanobind;

void BindComparing(nb::module_& m);
void BindTuning(nb::module_& m);
void BindVerifying(nb::module_& m);
void BindBisect(nb::module_& m);
void BindPrediction(nb::module_& m);

}  // namespace sluice::python
