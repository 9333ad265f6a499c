#include "sluice/memory/copy.h"

#include <algorithm>
#include <cstring>

#include "sluice/memory/memory.h"
#include "sluice/platform/device_context.h"
#include "sluice/platform/device_context_pool.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

constexpr size_t kStagingBytes = size_t{1} << 20;

bool IsHost(PlaceKey place) {
  return place == PlaceKey(CPUPlace{});
}

void CheckPointers(PlaceKey to_place,
                   const void* to,
                   PlaceKey from_place,
                   const void* from,
                   size_t bytes) {
  SLUICE_ENFORCE(to != nullptr, ErrorCode::kInvalidArgument, "copy.to",
                 "memory copy: the target of {} bytes from {} to {} is null",
                 bytes, from_place, to_place);
  SLUICE_ENFORCE(from != nullptr, ErrorCode::kInvalidArgument, "copy.from",
                 "memory copy: the source of {} bytes from {} to {} is null",
                 bytes, from_place, to_place);
}

// One of the places is that of `context`; the other is the same or the host.
void Enqueue(DeviceContext& context,
             PlaceKey to_place,
             void* to,
             PlaceKey from_place,
             const void* from,
             size_t bytes) {
  if (to_place == from_place) {
    context.CopyOnDevice(to, from, bytes);
  } else if (IsHost(from_place)) {
    context.CopyFromHost(to, from, bytes);
  } else {
    context.CopyToHost(to, from, bytes);
  }
}

void CopyThroughHost(PlaceKey to_place,
                     void* to,
                     PlaceKey from_place,
                     const void* from,
                     size_t bytes) {
  auto& pool = DeviceContextPool::Instance();
  const UniqueMemory staging =
      AllocUnique(CPUPlace{}, std::min(bytes, kStagingBytes));
  const auto source = pool.Acquire(from_place);
  const auto target = pool.Acquire(to_place);
  for (size_t done = 0; done < bytes; done += kStagingBytes) {
    const size_t part = std::min(kStagingBytes, bytes - done);
    source->CopyToHost(staging.get(), static_cast<const char*>(from) + done,
                       part);
    source->Wait();
    target->CopyFromHost(static_cast<char*>(to) + done, staging.get(), part);
    target->Wait();
  }
}

}  // namespace

void Copy(PlaceKey to_place,
          void* to,
          PlaceKey from_place,
          const void* from,
          size_t bytes) {
  if (bytes == 0) return;
  CheckPointers(to_place, to, from_place, from, bytes);
  if (IsHost(to_place) && IsHost(from_place)) {
    std::memcpy(to, from, bytes);
  } else if (to_place == from_place || IsHost(to_place) || IsHost(from_place)) {
    const auto context = DeviceContextPool::Instance().Acquire(
        IsHost(to_place) ? from_place : to_place);
    Enqueue(*context, to_place, to, from_place, from, bytes);
    context->Wait();
  } else {
    CopyThroughHost(to_place, to, from_place, from, bytes);
  }
}

void CopyAsync(DeviceContext& context,
               PlaceKey to_place,
               void* to,
               PlaceKey from_place,
               const void* from,
               size_t bytes) {
  const PlaceKey own(context.GetPlace());
  SLUICE_ENFORCE((to_place == own || IsHost(to_place)) &&
                     (from_place == own || IsHost(from_place)),
                 ErrorCode::kInvalidArgument, "copy.context",
                 "memory copy: a context of {} cannot copy from {} to {}; both "
                 "must be the host or its own place",
                 own, from_place, to_place);
  if (bytes == 0) return;
  CheckPointers(to_place, to, from_place, from, bytes);
  if (IsHost(to_place) && IsHost(from_place)) {
    // The device's queue may be unable to copy on the host, and its earlier
    // work may produce the bytes that are copied.
    if (!IsHost(own)) context.Wait();
    std::memcpy(to, from, bytes);
  } else {
    Enqueue(context, to_place, to, from_place, from, bytes);
  }
}

}  // namespace sluice
