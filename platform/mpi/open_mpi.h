#pragma once

#include <cstddef>

namespace sluice::platform::mpi {

// Chooses how MPI_Iallreduce works from now on, as all ranks must alike. Of
// itself Open MPI 4 takes its binomial tree for data in place and for fewer
// than 4 ranks, which moves large data twice: a ring reaches MPI_Allreduce's
// speed. Does nothing with another MPI, and with one whose ring is wrong
// (before 4.1.2, open-mpi/ompi issue 9385), or where the user has chosen by
// OMPI_MCA_coll_libnbc_iallreduce_algorithm.
void ChooseAllReduce(size_t bytes, int ranks);

}  // namespace sluice::platform::mpi
