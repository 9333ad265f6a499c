#pragma once

#include "sluice/laboratory/measure/order_statistics.h"
#include "sluice/python/bindings/bindings.h"

// The extension sluice._lab: conversions for the laboratory. It loads the
// extension sluice._core and uses its conversions.
namespace sluice::python {

void BindComparing(nb::module_& m);
void BindTuning(nb::module_& m);
void BindVerifying(nb::module_& m);
void BindBisect(nb::module_& m);
void BindPrediction(nb::module_& m);

inline nb::tuple ToTuple(const Interval& interval) {
  return nb::make_tuple(interval.low, interval.high);
}

}  // namespace sluice::python
