#include "sluice/platform/mpi/open_mpi.h"

#include <cstdlib>

#include <mpi.h>

namespace sluice::mpi {

namespace {

constexpr const char* kVariable = "coll_libnbc_iallreduce_algorithm";

#ifdef OPEN_MPI
constexpr int kVersion = OMPI_MAJOR_VERSION * 10000 + OMPI_MINOR_VERSION * 100 +
                         OMPI_RELEASE_VERSION;
#else
constexpr int kVersion = 0;
#endif
constexpr int kBothAreRight = 40102;

// Returns the handle of Open MPI's variable, or null where it cannot be set.
MPI_T_cvar_handle Handle() {
  MPI_T_cvar_handle handle = nullptr;
  int given = 0;
  int index = 0;
  int count = 0;
  if (kVersion < kBothAreRight ||
      std::getenv("OMPI_MCA_coll_libnbc_iallreduce_algorithm") != nullptr ||
      MPI_T_init_thread(MPI_THREAD_SERIALIZED, &given) != MPI_SUCCESS ||
      MPI_T_cvar_get_index(kVariable, &index) != MPI_SUCCESS ||
      MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) {
    return nullptr;
  }
  return handle;
}

}  // namespace

void ChooseAllReduce(size_t bytes, int ranks) {
  constexpr int kRing = 1;
  constexpr int kRabenseifner = 3;
  constexpr int kRecursiveDoubling = 4;
  // Below this size, a ring's 2 (ranks - 1) messages cost more than its data.
  constexpr size_t kRingBytesARank = 4096;
  // Below this size, the additional log2(ranks) messages of Rabenseifner's
  // algorithm cost more than they save on networks of up to 10 Gbit/s: about
  // latency * bandwidth (Thakur, Rabenseifner and Gropp, IJHPCA 19, 2005).
  constexpr size_t kRabenseifnerBytes = 32768;
  static const MPI_T_cvar_handle kHandle = Handle();
  static int chosen = 0;
  if (kHandle == nullptr) return;
  int wanted = kRecursiveDoubling;
  if (bytes >= kRingBytesARank * static_cast<size_t>(ranks)) {
    wanted = kRing;
  } else if (bytes >= kRabenseifnerBytes) {
    wanted = kRabenseifner;
  }
  if (wanted == chosen) return;
  if (MPI_T_cvar_write(kHandle, &wanted) == MPI_SUCCESS) chosen = wanted;
}

}  // namespace sluice::mpi
