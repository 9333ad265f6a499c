#pragma once

#include "sluice/operators/math/pool/pool2d.h"

// Maxima of any windows where the channels are last, in vectors of channels
// that stay in registers while the pixels of a window pass by. The same bits as
// those of Pool2d's other loops.
namespace sluice::operators::math {

// Through ParallelFor. T: float or double.
template <typename T>
void MaxOfChannels(const Pool2dGeometry& g, const T* x, T* out);

}  // namespace sluice::operators::math
