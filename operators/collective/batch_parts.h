#pragma once

#include <string>
#include <vector>

#include "sluice/framework/program/backward.h"
#include "sluice/framework/program/program.h"

namespace sluice::operators {

// Sums over the parts of a batch.
struct PartSums {
  std::vector<framework::ParamGrad> gradients;
  std::string loss;
};

// Appends a scan that computes the gradients of `loss` / `divisor` for `count`
// equal parts of what is fed with an open first dim, one after the other, by
// one and the same plan; and the pairwise sums of these. Raises what
// AppendBackward raises, and InvalidArgument where there is nothing to divide,
// or where an op before the loss draws random numbers, updates a variable or
// holds blocks: it would not do the same for parts as for the whole.
PartSums AppendPartSums(framework::Program& program,
                        const std::string& loss,
                        const framework::BackwardOptions& backward,
                        int count,
                        int divisor,
                        const framework::SourceLocation& location);

}  // namespace sluice::operators
