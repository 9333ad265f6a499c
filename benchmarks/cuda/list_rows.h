#pragma once

#include <string>
#include <vector>

#include "benchmarks/cuda/measure.h"
#include "benchmarks/cuda/rows.h"

namespace sluice::bench {

// The rows as JSON, for whoever measures the same with another library:
//   {"ops": [{"id", "op", "gradient", "unit", "work", "forward": {"inputs":
//     [{"argument", "dtype", "dims", "fill": {"kind", "low", "high", "seed"}}],
//     "attributes"}, "gradient_inputs": [...], "outputs": [{"argument",
//     "dtype", "dims"}]}],
//    "copies": [{"id", "direction", "pinned", "bytes"}],
//    "left_out": {op: reason}}
// `work` divided by seconds is in units of the row after "scale" was applied.
std::string ListRows(const Rows& rows, const std::vector<CopyRow>& copies);

}  // namespace sluice::bench
