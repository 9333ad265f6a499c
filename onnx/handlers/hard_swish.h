#pragma once

#include "sluice/onnx/import/node.h"

namespace sluice::onnx {

// Imports a division of x * clip(x + 3, 0, 6) by 6 as hard_swish of x, the
// product being what input 0 is; true where that was done: nothing else reads
// what comes between. Models have it so where their exporter knows no
// HardSwish.
bool ImportHardSwish(Node& node);

}  // namespace sluice::onnx
