#pragma once

#include <cstddef>
#include <cstdint>

#include <nccl.h>

#include "sluice/platform/cuda_emulation/rank_group.h"

namespace sluice::cuda_emulation {

enum class NcclKind : uint8_t {
  kAllReduce,
  kBroadcast,
  kAllGather,
  kReduceScatter,
};
const char* NameOf(NcclKind kind);

// One call with checked arguments.
struct NcclCall {
  NcclKind kind = NcclKind::kAllReduce;
  const void* from = nullptr;
  void* to = nullptr;
  size_t count = 0;  // all-gather and reduce-scatter: elements of one rank
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t reduction = ncclSum;
  int root = 0;
};

// Counts the calls of this process, for tests.
SLUICE_API uint64_t EnqueuedNcclCalls();

// Returns 0 for an unknown type.
size_t NcclSizeOf(ncclDataType_t type);

// Executes a call together with the other ranks; runs as device work. Faults
// where the ranks differ or one of them does not arrive. Does nothing once this
// rank has given up.
void RunNcclCall(const NcclCall& call, RankGroup& group);

}  // namespace sluice::cuda_emulation
