#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sluice/framework/program/backward.h"
#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

namespace sluice::operators {

struct DataParallelOptions {
  // Gradients are added up in buckets of about so many bytes, in the order in
  // which the backward pass computes them: a bucket is on its way while the ops
  // after it compute the next one.
  int64_t bucket_bytes = int64_t{1} << 20;
  // With a number, a power of 2 that is a multiple of the number of ranks, the
  // results have the same bits for any such number: each batch is computed in
  // so many parts, one after the other, and gradients are added up in pairs.
  // Variables that are fed and whose first dim is open are divided. 0 leaves
  // each rank its batch as a whole.
  int parts = 0;
};

struct DataParallelBackward {
  // Parameters with their gradients over all ranks, in the order in which these
  // are ready.
  std::vector<framework::ParamGrad> gradients;
  // The mean of the loss over all ranks. All ranks must fetch it, or none.
  std::string loss;
};

// Appends the ops that compute the gradients of the mean of `loss` over all
// ranks, which must run the same program. With one rank and without parts that
// is AppendBackward. With several, they compare the values of parameters at the
// first run in a scope, which must be the same.
//
// Raises what AppendBackward raises; FailedPrecondition where ranks were
// started and not joined; and InvalidArgument for bucket_bytes below 1, parts
// that are no power of 2 or that the ranks do not divide, and with parts for a
// program with nothing to divide, or with an op before the loss that draws
// random numbers, updates a variable or holds blocks. The program is unchanged
// then.
SLUICE_API DataParallelBackward
AppendDataParallelBackward(framework::Program& program,
                           const std::string& loss,
                           const framework::BackwardOptions& backward = {},
                           const DataParallelOptions& options = {},
                           const framework::SourceLocation& location =
                               framework::SourceLocation::Here());

}  // namespace sluice::operators
