#pragma once

#include <cstddef>

#include "sluice/platform/export.h"
#include "sluice/platform/place_key.h"

namespace sluice {
class DeviceContext;
// Copies `bytes` bytes between any two places, which may be equal, and returns
// when they have arrived. The ranges must not overlap. Between two devices the
// bytes are staged in at most 1 MiB of host memory. May be called from any
// thread. It uses its own contexts, so the caller must first wait for work of
// other contexts on this memory. Raises InvalidArgument for a null pointer
// (unless `bytes` is 0), what DeviceManager::Get and Alloc raise, and what the
// devices report.
SLUICE_API void Copy(PlaceKey to_place,
                     void* to,
                     PlaceKey from_place,
                     const void* from,
                     size_t bytes);

// Enqueues a copy on a context; both ranges must stay alive and untouched until
// the context's Wait returns. Raises InvalidArgument unless each place is the
// host or the context's own.
SLUICE_API void CopyAsync(DeviceContext& context,
                          PlaceKey to_place,
                          void* to,
                          PlaceKey from_place,
                          const void* from,
                          size_t bytes);

}  // namespace sluice
