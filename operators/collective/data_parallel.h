#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sluice/framework/program/backward.h"
#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

namespace sluice {

struct DataParallelOptions {
  // Gradients are all-reduced in buckets of about this many bytes, in the order
  // in which the backward pass computes them. The transfer of a bucket overlaps
  // with the ops that compute the next one.
  int64_t bucket_bytes = int64_t{1} << 20;
  // If not 0, a power of 2 that is a multiple of the number of ranks: results
  // then have the same bits for any number of ranks. Each batch is divided into
  // this many parts, computed in sequence, and gradients are added pairwise.
  // Fed variables whose first dim is open are divided. With 0, each rank
  // computes its whole batch at once.
  int parts = 0;
};

struct DataParallelBackward {
  // Parameters with their gradients over all ranks, in the order in which these
  // are computed.
  std::vector<ParamGrad> gradients;
  // The mean of the loss over all ranks. All ranks must fetch it, or none.
  std::string loss;
};

// Appends the ops that compute the gradients of the mean of `loss` over all
// ranks, which must run the same program. With one rank and without parts, this
// equals AppendBackward. Several ranks check at the first run in a scope that
// their parameters are equal.
//
// Raises what AppendBackward raises. Raises FailedPrecondition if ranks were
// started and not joined. Raises InvalidArgument for bucket_bytes below 1 and
// for parts that are no power of 2 or no multiple of the number of ranks; with
// parts also if there is nothing to divide, or if an op before the loss draws
// random numbers, updates a variable or holds blocks. The program is unchanged
// then.
SLUICE_API DataParallelBackward AppendDataParallelBackward(
    Program& program,
    const std::string& loss,
    const BackwardOptions& backward = {},
    const DataParallelOptions& options = {},
    const SourceLocation& location = SourceLocation::Here());

}  // namespace sluice
