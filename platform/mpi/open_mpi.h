#pragma once

#include <cstddef>

namespace sluice::mpi {

// Chooses the algorithm of later calls of MPI_Iallreduce; all ranks must choose
// alike. By default Open MPI 4 uses a binomial tree for in-place data and for
// fewer than 4 ranks, which moves large data twice: a ring is as fast as
// MPI_Allreduce. Does nothing with another MPI, with one whose ring is wrong
// (before 4.1.2, open-mpi/ompi issue 9385), or where the user has set
// OMPI_MCA_coll_libnbc_iallreduce_algorithm.
void ChooseAllReduce(size_t bytes, int ranks);

}  // namespace sluice::mpi
