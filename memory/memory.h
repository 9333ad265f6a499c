#pragma once

#include <cstddef>
#include <memory>

#include "sluice/platform/export.h"
#include "sluice/platform/place_key.h"

namespace sluice::memory {

// Memory of a place, from the place's CachingAllocator. Every function may be
// called from any thread, with a Place, one of its alternatives or a PlaceKey.

namespace internal {
SLUICE_API void* Alloc(platform::PlaceKey place, size_t bytes);
SLUICE_API void Free(platform::PlaceKey place, void* pointer);
SLUICE_API size_t Used(platform::PlaceKey place);
}  // namespace internal

// `bytes` of uninitialised memory, 64-byte aligned. 0 bytes give a valid
// pointer of its own, to be freed as others are. Raises ResourceExhausted with
// the figures of the place when there is not enough even after everything
// cached went back to the system, and what DeviceManager::Get raises.
template <typename Place>
void* Alloc(const Place& place, size_t bytes) {
  return internal::Alloc(platform::PlaceKey(place), bytes);
}

// Gives back what Alloc of the same place returned; nullptr is fine. Raises
// InvalidArgument for any other pointer and for one that was freed before.
// Never allocates.
template <typename Place>
void Free(const Place& place, void* pointer) {
  internal::Free(platform::PlaceKey(place), pointer);
}

// Bytes in use: the sum of what was asked for and not freed yet. 0 for a place
// that nobody used; no device is touched.
template <typename Place>
size_t Used(const Place& place) {
  return internal::Used(platform::PlaceKey(place));
}

struct Deleter {
  platform::PlaceKey place;
  void operator()(void* pointer) const { internal::Free(place, pointer); }
};

// Memory that is freed when its owner goes.
using UniqueMemory = std::unique_ptr<void, Deleter>;

template <typename Place>
UniqueMemory AllocUnique(const Place& place, size_t bytes) {
  return UniqueMemory(Alloc(place, bytes), Deleter{platform::PlaceKey(place)});
}

}  // namespace sluice::memory
