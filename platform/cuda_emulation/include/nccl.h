#pragma once

#include <cstddef>

#include <cuda_runtime.h>

#include "sluice/platform/export.h"

// A stand-in for NCCL: the calls that Sluice makes, with NCCL's names and
// values. The ranks of a communicator are processes of one machine, each with
// its own emulated device. They exchange data through shared memory.
//
// A call checks its arguments and enqueues. Data moves when the stream runs the
// call, which waits for the other ranks. As in NCCL, the calls of one
// communicator run in the order of the calls, whatever their streams, and
// ncclMax ignores a NaN if there is another number.

enum ncclResult_t {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
};

enum ncclDataType_t {
  ncclInt8 = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclFloat32 = 7,
  ncclFloat64 = 8,
  ncclBfloat16 = 9,
  ncclNumTypes = 10,
};

enum ncclRedOp_t { ncclSum = 0, ncclProd = 1, ncclMax = 2, ncclMin = 3 };

struct ncclUniqueId {
  char internal[128];
};

using ncclComm_t = struct ncclComm*;

extern "C" {

SLUICE_API ncclResult_t ncclGetVersion(int* version);
SLUICE_API const char* ncclGetErrorString(ncclResult_t result);
// Returns the message of this thread's last failed call.
SLUICE_API const char* ncclGetLastError(ncclComm_t communicator);

SLUICE_API ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
// Returns once all `ranks` ranks have called it with the same id.
SLUICE_API ncclResult_t ncclCommInitRank(ncclComm_t* communicator,
                                         int ranks,
                                         ncclUniqueId id,
                                         int rank);
SLUICE_API ncclResult_t ncclCommDestroy(ncclComm_t communicator);
// Ends enqueued calls, also one that runs in another thread; other ranks that
// take part in it get a fault.
SLUICE_API ncclResult_t ncclCommAbort(ncclComm_t communicator);

SLUICE_API ncclResult_t ncclGroupStart();
SLUICE_API ncclResult_t ncclGroupEnd();

SLUICE_API ncclResult_t ncclAllReduce(const void* from,
                                      void* to,
                                      size_t count,
                                      ncclDataType_t type,
                                      ncclRedOp_t reduction,
                                      ncclComm_t communicator,
                                      cudaStream_t stream);
SLUICE_API ncclResult_t ncclBroadcast(const void* from,
                                      void* to,
                                      size_t count,
                                      ncclDataType_t type,
                                      int root,
                                      ncclComm_t communicator,
                                      cudaStream_t stream);
// `count` is the number of elements of one rank.
SLUICE_API ncclResult_t ncclAllGather(const void* from,
                                      void* to,
                                      size_t count,
                                      ncclDataType_t type,
                                      ncclComm_t communicator,
                                      cudaStream_t stream);
SLUICE_API ncclResult_t ncclReduceScatter(const void* from,
                                          void* to,
                                          size_t count,
                                          ncclDataType_t type,
                                          ncclRedOp_t reduction,
                                          ncclComm_t communicator,
                                          cudaStream_t stream);

}  // extern "C"
