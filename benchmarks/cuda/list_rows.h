#pragma once

#include <string>
#include <vector>

#include "benchmarks/cuda/measure.h"
#include "benchmarks/cuda/rows.h"

namespace sluice::bench {

// The rows as JSON, for measuring them with another library:
//   {"ops": [{"id", "op", "unit", "gradient", "work", "attributes", "inputs",
//     "gradient_inputs", "outputs"}],
//    "copies": [{"id", "direction", "pinned", "bytes"}],
//    "left_out": {op: reason}}
// `work` is in bytes, floating-point operations or pairs. `op`, `attributes`
// and `inputs` are those of the forward op; if `gradient` names the measured
// op, `gradient_inputs` are the gradients of outputs that it reads. Variables
// are {"argument", "name", "dtype", "dims"}, inputs with "fill": {"kind",
// "low", "high", "seed"}, see FillTensor. `outputs` are those of the measured
// op.
std::string ListRows(const Rows& rows, const std::vector<CopyRow>& copies);

}  // namespace sluice::bench
