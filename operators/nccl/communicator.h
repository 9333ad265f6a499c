#pragma once

#include <string_view>

#include <nccl.h>

#include "sluice/platform/place.h"

namespace sluice::operators::nccl {

// Raises what a failed call of NCCL means, with what NCCL says about it:
// InvalidArgument for wrong arguments and for ranks that share a GPU,
// FailedPrecondition where another rank is gone, else Internal.
void CheckNccl(ncclResult_t result, std::string_view what);

// The communicator of all ranks of the World, one for each process: made when
// first asked for, which all ranks must do at the same op, and kept until the
// process ends. Used by the thread that runs collectives. Raises
// FailedPrecondition for another device than the first one, which other ranks
// would not notice, and once it was given up because a run failed; what the
// World raises; and what CheckNccl raises.
ncclComm_t Communicator(platform::CUDAPlace place);

}  // namespace sluice::operators::nccl
