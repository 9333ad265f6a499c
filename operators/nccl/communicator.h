#pragma once

#include <string_view>

#include <nccl.h>

#include "sluice/platform/place.h"

namespace sluice::nccl {

// Raises the error for a failed NCCL call, with NCCL's message: InvalidArgument
// for wrong arguments and for ranks that share a GPU, FailedPrecondition if
// another rank has exited, otherwise Internal.
void CheckNccl(ncclResult_t result, std::string_view what);

// Returns the communicator of all ranks of the World. There is one for each
// process. The first call creates it and must be at the same op on all ranks;
// it is kept until the process ends. For the thread that runs collectives only.
// Raises FailedPrecondition for another device than in the first call, as other
// ranks could not detect that, and after a failed run aborted it. Raises what
// World and CheckNccl raise.
ncclComm_t Communicator(CUDAPlace place);

}  // namespace sluice::nccl
