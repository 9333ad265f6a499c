#pragma once

#include "sluice/onnx/import/node.h"

namespace sluice::onnx {

// Imports a division by 6 of input 0 = x * clip(x + 3, 0, 6) as hard_swish of
// x. Returns false if anything else reads an intermediate value. Exporters
// without HardSwish write this.
bool ImportHardSwish(Node& node);

}  // namespace sluice::onnx
