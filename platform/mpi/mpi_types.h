#pragma once

#include <cstddef>

#include <mpi.h>

#include "sluice/platform/ranks/world.h"

namespace sluice::platform::mpi {

// The type by which elements of a dtype are moved: one of their size.
MPI_Datatype MovedType(platform::DType dtype);

// The type and the operation by which they are reduced; float16 and bfloat16
// have operations of our own, which compute in float32 as kernels do. Raise
// Unimplemented for dtypes that are only stored, and for bool.
MPI_Datatype ReducedType(const platform::Collective& collective);
MPI_Op ReductionOf(const platform::Collective& collective);

// Of one rank's `count` elements.
size_t Bytes(const platform::Collective& collective);

// Adds up `parts`, those of all ranks one after the other, into `to`: halves of
// the ranks first, each added up in the same way, so that the order is the same
// for any number of ranks that share 2^n parts. `parts` is overwritten.
void ReduceInOrder(const platform::Collective& collective,
                   int size,
                   std::byte* parts);

}  // namespace sluice::platform::mpi
