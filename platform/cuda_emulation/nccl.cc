#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include <nccl.h>

#include "sluice/platform/cuda_emulation/api.h"
#include "sluice/platform/cuda_emulation/device_memory.h"
#include "sluice/platform/cuda_emulation/nccl_run.h"
#include "sluice/platform/cuda_emulation/rank_group.h"

struct ncclComm {
  // Shared with enqueued calls, which may outlive the communicator.
  std::shared_ptr<sluice::cuda_emulation::RankGroup> ranks;
  sluice::cuda_emulation::Mark last;  // marks its last call
};

namespace sluice::cuda_emulation {
namespace {

constexpr int kNcclVersion = 22000;  // of the API

thread_local char last_nccl_error[512];
// Calls between ncclGroupStart and ncclGroupEnd.
struct Grouped {
  NcclCall call;
  ncclComm_t communicator;
  cudaStream_t stream;
};
thread_local std::vector<Grouped> grouped;
thread_local int groups = 0;
std::atomic<uint64_t> calls = 0;

__attribute__((format(printf, 2, 3))) ncclResult_t Refuse(ncclResult_t result,
                                                          const char* format,
                                                          ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(last_nccl_error, sizeof(last_nccl_error), format, arguments);
  va_end(arguments);
  return result;
}

std::mutex& CommunicatorsLock() {
  static auto* mutex = new std::mutex;
  return *mutex;
}
std::set<ncclComm_t>& Communicators() {
  static auto* communicators = new std::set<ncclComm_t>;
  return *communicators;
}

bool IsCommunicator(ncclComm_t communicator) {
  const std::lock_guard lock(CommunicatorsLock());
  return Communicators().count(communicator) > 0;
}

bool OnDevice(const void* address) {
  const std::lock_guard lock(RuntimeLock());
  return Memory().Contains(address);
}

ncclResult_t Check(const NcclCall& call, ncclComm_t communicator) {
  const char* name = NameOf(call.kind);
  if (!IsCommunicator(communicator)) {
    return Refuse(ncclInvalidArgument, "%s: %p is no communicator", name,
                  static_cast<void*>(communicator));
  }
  const int ranks = communicator->ranks->ranks();
  const bool sends = call.kind != NcclKind::kBroadcast ||
                     call.root == communicator->ranks->rank();
  if (NcclSizeOf(call.type) == 0) {
    return Refuse(ncclInvalidArgument, "%s: %d is no data type", name,
                  static_cast<int>(call.type));
  }
  if (call.reduction != ncclSum && call.reduction != ncclMax) {
    return Refuse(ncclInvalidArgument,
                  "%s: reduction %d; the stand-in has ncclSum and ncclMax",
                  name, static_cast<int>(call.reduction));
  }
  if (call.root < 0 || call.root >= ranks) {
    return Refuse(ncclInvalidArgument, "%s: root %d of %d ranks", name,
                  call.root, ranks);
  }
  if (call.count == 0) return ncclSuccess;
  for (const void* address :
       {sends ? call.from : call.to, static_cast<const void*>(call.to)}) {
    if (!OnDevice(address)) {
      return Refuse(ncclInvalidArgument, "%s: %p is no memory of the device",
                    name, address);
    }
  }
  return ncclSuccess;
}

ncclResult_t Enqueue(const Grouped& each) {
  const cudaError_t error = Call([&] {
    const auto run = [call = each.call, ranks = each.communicator->ranks] {
      RunNcclCall(call, *ranks);
    };
    Mark& last = each.communicator->last;
    const std::shared_ptr<Stream>& stream = Resolve(each.stream);
    if (last.stream != nullptr) stream->waits.push_back(last);
    AllStreams().Enqueue(stream, {NameOf(each.call.kind), run, true, {}});
    last = AllStreams().Last(stream);
    ++calls;
    return cudaSuccess;
  });
  if (error == cudaSuccess) return ncclSuccess;
  return Refuse(ncclUnhandledCudaError, "%s: %s", NameOf(each.call.kind),
                cudaGetErrorString(error));
}

ncclResult_t Launch(const NcclCall& call,
                    ncclComm_t communicator,
                    cudaStream_t stream) {
  const ncclResult_t refusal = Check(call, communicator);
  if (refusal != ncclSuccess || call.count == 0) return refusal;
  if (groups == 0) return Enqueue({call, communicator, stream});
  grouped.push_back({call, communicator, stream});
  return ncclSuccess;
}

ncclResult_t Remove(ncclComm_t communicator, bool give_up) {
  const std::lock_guard lock(CommunicatorsLock());
  if (Communicators().erase(communicator) == 0) {
    return Refuse(ncclInvalidArgument, "%p is no communicator",
                  static_cast<void*>(communicator));
  }
  if (give_up) communicator->ranks->GiveUp();
  delete communicator;
  return ncclSuccess;
}

}  // namespace

uint64_t EnqueuedNcclCalls() {
  return calls;
}

}  // namespace sluice::cuda_emulation

using namespace sluice::cuda_emulation;  // NOLINT(google-build-using-namespace)

ncclResult_t ncclGetVersion(int* version) {
  *version = kNcclVersion;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  constexpr const char* kTexts[] = {
      "no error",
      "unhandled cuda error",
      "unhandled system error",
      "internal error",
      "invalid argument",
      "invalid usage",
      "remote process exited or there was a network error",
      "NCCL operation in progress"};
  const auto index = static_cast<size_t>(result);
  return index < std::size(kTexts) ? kTexts[index] : "unknown result code";
}

const char* ncclGetLastError(ncclComm_t /*communicator*/) {
  return last_nccl_error;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  if (id == nullptr) return Refuse(ncclInvalidArgument, "no unique id");
  *id = {};
  RankGroup::NewName().copy(id->internal, sizeof(id->internal) - 1);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* communicator,
                              int ranks,
                              ncclUniqueId id,
                              int rank) {
  if (communicator == nullptr || ranks < 1 || ranks > RankGroup::kMostRanks ||
      rank < 0 || rank >= ranks) {
    return Refuse(ncclInvalidArgument, "rank %d of %d ranks", rank, ranks);
  }
  *communicator = nullptr;
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess || GetOptions().devices == 0) {
    return Refuse(ncclUnhandledCudaError, "no CUDA-capable device is detected");
  }
  id.internal[sizeof(id.internal) - 1] = '\0';
  try {
    auto made = std::make_unique<ncclComm>();
    made->ranks = std::make_shared<RankGroup>(id.internal, ranks, rank);
    const std::lock_guard lock(CommunicatorsLock());
    Communicators().insert(made.get());
    *communicator = made.release();
    return ncclSuccess;
  } catch (const std::invalid_argument& problem) {
    return Refuse(ncclInvalidUsage, "%s", problem.what());
  } catch (const std::exception& problem) {
    return Refuse(ncclSystemError, "%s", problem.what());
  }
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  return Remove(communicator, false);
}

ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  return Remove(communicator, true);
}

ncclResult_t ncclGroupStart() {
  ++groups;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (groups == 0) {
    return Refuse(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  }
  if (--groups > 0) return ncclSuccess;
  for (const Grouped& each : std::exchange(grouped, {})) {
    const ncclResult_t result = Enqueue(each);
    if (result != ncclSuccess) return result;
  }
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* from,
                           void* to,
                           size_t count,
                           ncclDataType_t type,
                           ncclRedOp_t reduction,
                           ncclComm_t communicator,
                           cudaStream_t stream) {
  return Launch({NcclKind::kAllReduce, from, to, count, type, reduction},
                communicator, stream);
}

ncclResult_t ncclBroadcast(const void* from,
                           void* to,
                           size_t count,
                           ncclDataType_t type,
                           int root,
                           ncclComm_t communicator,
                           cudaStream_t stream) {
  return Launch({NcclKind::kBroadcast, from, to, count, type, ncclSum, root},
                communicator, stream);
}

ncclResult_t ncclAllGather(const void* from,
                           void* to,
                           size_t count,
                           ncclDataType_t type,
                           ncclComm_t communicator,
                           cudaStream_t stream) {
  return Launch({NcclKind::kAllGather, from, to, count, type}, communicator,
                stream);
}

ncclResult_t ncclReduceScatter(const void* from,
                               void* to,
                               size_t count,
                               ncclDataType_t type,
                               ncclRedOp_t reduction,
                               ncclComm_t communicator,
                               cudaStream_t stream) {
  return Launch({NcclKind::kReduceScatter, from, to, count, type, reduction},
                communicator, stream);
}
