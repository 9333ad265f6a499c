#pragma once

#include "sluice/operators/math/pool/pool2d.h"

// Maxima over any windows with channels last. Vectors of channels stay in
// registers during the loop over a window's pixels. The bits equal those of
// Pool2d's other loops.
namespace sluice {

// Runs through ParallelFor. T: float or double.
template <typename T>
void MaxOfChannels(const Pool2dGeometry& g, const T* x, T* out);

}  // namespace sluice
