#pragma once

#include <cstddef>

#include <mpi.h>

#include "sluice/platform/ranks/world.h"

namespace sluice::mpi {

// Returns the MPI type of an element. float16, bfloat16 and the dtypes that
// cannot be reduced have the unsigned integer of their size.
MPI_Datatype TypeOf(DType dtype);

// Returns the operation of a reduction. float16 and bfloat16 use Sluice's own
// operations, which compute in float32 as kernels do. Raises Unimplemented for
// dtypes that are only stored, and for bool.
MPI_Op ReductionOf(const Collective& collective);

// Returns the bytes of one rank's `count` elements.
size_t Bytes(const Collective& collective);

// Sums `parts`, the contiguous contributions of all ranks, into `to`. Sums each
// half of the ranks recursively, so the order of additions is the same for any
// number of ranks that share 2^n contributions. `parts` is overwritten.
void ReduceInOrder(const Collective& collective, int size, std::byte* parts);

}  // namespace sluice::mpi
