#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "benchmarks/cuda/op_spec.h"

namespace sluice::bench {

// An op that is limited by memory bandwidth.
struct BandwidthCase {
  std::string variant;  // "" or a name for one of the op's cases: "dim0"
  OpSpec spec;
  // Bytes to move; 0 means those of inputs and outputs, see BytesOf.
  double bytes = 0;
};

// `op` with a main tensor of `bytes` of float32, a power of two of at least 4
// KiB. Ops that are not described here get tensors of one shape, if their
// schema accepts that. Raises Unimplemented for those that need a description.
std::vector<BandwidthCase> BandwidthCases(const std::string& op, int64_t bytes);

// Whether the op is limited by arithmetic, so that its rows have another unit.
bool IsArithmetic(const std::string& op);

}  // namespace sluice::bench
