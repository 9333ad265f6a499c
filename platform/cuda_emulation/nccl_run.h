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

// One call, once its arguments have been checked.
struct NcclCall {
  NcclKind kind = NcclKind::kAllReduce;
  const void* from = nullptr;
  void* to = nullptr;
  size_t count = 0;  // all-gather and reduce-scatter: of one rank's part
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t reduction = ncclSum;
  int root = 0;
};

// Of this process, for tests.
SLUICE_API uint64_t EnqueuedNcclCalls();

// 0 for a type that is none.
size_t NcclSizeOf(ncclDataType_t type);

// Does the work of a call together with the other ranks; runs as work of the
// device. A fault where the ranks differ or one of them does not come. Nothing
// happens once this rank has given up.
void RunNcclCall(const NcclCall& call, RankGroup& group);

}  // namespace sluice::cuda_emulation
