#include "sluice/operators/nccl/communicator.h"

#include <memory>
#include <mutex>
#include <utility>

#include "sluice/framework/op/registry.h"
#include "sluice/platform/error.h"
#include "sluice/platform/place_key.h"
#include "sluice/platform/ranks/world.h"

namespace sluice::nccl {

namespace {

struct State {
  std::mutex mutex;
  ncclComm_t communicator = nullptr;
  CUDAPlace place;
  bool given_up = false;
};

State& TheState() {
  static auto* const kState = new State();
  return *kState;
}

// Aborts running collectives, so that waiting for the device ends.
void GiveUp() {
  State& state = TheState();
  const std::lock_guard lock(state.mutex);
  if (state.communicator == nullptr) return;
  static_cast<void>(ncclCommAbort(state.communicator));
  state.communicator = nullptr;
  state.given_up = true;
}

// Returns the id that rank 0 created, on all ranks.
ncclUniqueId SharedId(World& world) {
  const auto id = std::make_shared<ncclUniqueId>();
  if (world.rank() == 0) {
    CheckNccl(ncclGetUniqueId(id.get()), "making the id of a communicator");
  }
  Collective broadcast;
  broadcast.kind = CollectiveKind::kBroadcast;
  broadcast.from = broadcast.to = id.get();
  broadcast.from_owner = broadcast.to_owner = id;
  broadcast.count = sizeof(ncclUniqueId);
  broadcast.dtype = DType::kUInt8;
  world.Wait(world.Start(std::move(broadcast)));
  return *id;
}

ErrorCode CodeOf(ncclResult_t result) {
  switch (result) {
    case ncclInvalidArgument:
    case ncclInvalidUsage:
      return ErrorCode::kInvalidArgument;
    case ncclRemoteError:
      return ErrorCode::kFailedPrecondition;
    default:
      return ErrorCode::kInternal;
  }
}

}  // namespace

void CheckNccl(ncclResult_t result, std::string_view what) {
  if (result == ncclSuccess) [[likely]] {
    return;
  }
  const char* details = ncclGetLastError(nullptr);
  Raise(CodeOf(result), "nccl.call", "{}: NCCL says \"{}\" ({}): {}", what,
        ncclGetErrorString(result), static_cast<int>(result),
        details == nullptr ? "" : details);
}

ncclComm_t Communicator(CUDAPlace place) {
  State& state = TheState();
  const std::lock_guard lock(state.mutex);
  SLUICE_ENFORCE(!state.given_up, ErrorCode::kFailedPrecondition,
                 "nccl.given_up",
                 "the communicator of NCCL was given up when a run failed on "
                 "this rank: start the ranks again");
  if (state.communicator == nullptr) {
    World& world = World::Get();
    const ncclUniqueId id = SharedId(world);
    SetDeviceAbort(&GiveUp);
    CheckNccl(
        ncclCommInitRank(&state.communicator, world.size(), id, world.rank()),
        Format("{}: joining the {} ranks of a communicator", PlaceKey(place),
               world.size()));
    state.place = place;
  }
  SLUICE_ENFORCE(place == state.place, ErrorCode::kFailedPrecondition,
                 "nccl.device",
                 "the collectives of this process are those of {}, the first "
                 "device that took part in one; {} cannot: one device for each "
                 "rank",
                 PlaceKey(state.place), PlaceKey(place));
  return state.communicator;
}

}  // namespace sluice::nccl

extern "C" void SluiceStartModule();

// Recorded times of the kernels are valid for this version only.
void SluiceStartModule() {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess) return;
  sluice::Registry::Global().SetLibraryVersion(
      "NCCL", sluice::Format("NCCL {}.{}.{}", version / 10000,
                             version / 100 % 100, version % 100));
}
