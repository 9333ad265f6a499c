#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "benchmarks/cuda/op_spec.h"

namespace sluice::bench {

// An op whose time goes into reading and writing memory.
struct BandwidthCase {
  std::string variant;  // "" or what tells two cases of an op apart: "dim0"
  OpSpec spec;
  // Bytes that must be moved; 0: those of inputs and outputs, see BytesOf.
  double bytes = 0;
};

// `op` with a main tensor of `bytes` of float32: 4 KiB at least, and a power of
// two. Ops that nobody has described here get tensors of one shape, if their
// schema takes that. Raises Unimplemented for those that need a description.
std::vector<BandwidthCase> BandwidthCases(const std::string& op, int64_t bytes);

// Whether the op's time is arithmetic, so that it has rows of another unit.
bool IsArithmetic(const std::string& op);

}  // namespace sluice::bench
