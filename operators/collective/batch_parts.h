#pragma once

#include <string>
#include <vector>

#include "sluice/framework/program/backward.h"
#include "sluice/framework/program/program.h"

namespace sluice {

// The names of the sums over all parts of a batch.
struct PartSums {
  std::vector<ParamGrad> gradients;
  std::string loss;
};

// Appends a scan that computes the gradients of `loss` / `divisor` for `count`
// equal parts of the batch, in sequence and with one plan, and their pairwise
// sums. The fed variables with an open first dim are divided. Raises what
// AppendBackward raises. Raises InvalidArgument if there is nothing to divide,
// or if an op before the loss draws random numbers, updates a variable or holds
// blocks: such an op would compute something else for parts.
PartSums AppendPartSums(Program& program,
                        const std::string& loss,
                        const BackwardOptions& backward,
                        int count,
                        int divisor,
                        const SourceLocation& location);

}  // namespace sluice
