#pragma once

#include <cstddef>

#include <mpi.h>

#include "sluice/platform/ranks/world.h"

namespace sluice::platform::mpi {

// Returns an MPI type of the element size, to move elements of a dtype.
MPI_Datatype MovedType(platform::DType dtype);

// Return the type and the operation of a reduction. float16 and bfloat16 use
// Sluice's own operations, which compute in float32 as kernels do. Raise
// Unimplemented for dtypes that are only stored, and for bool.
MPI_Datatype ReducedType(const platform::Collective& collective);
MPI_Op ReductionOf(const platform::Collective& collective);

// Returns the bytes of one rank's `count` elements.
size_t Bytes(const platform::Collective& collective);

// Sums `parts`, the contiguous contributions of all ranks, into `to`. Sums each
// half of the ranks recursively, so the order of additions is the same for any
// number of ranks that share 2^n contributions. `parts` is overwritten.
void ReduceInOrder(const platform::Collective& collective,
                   int size,
                   std::byte* parts);

}  // namespace sluice::platform::mpi
