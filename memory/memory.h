#pragma once

#include <cstddef>
#include <memory>

#include "sluice/platform/export.h"
#include "sluice/platform/place_key.h"

namespace sluice {

// Memory of a place, from its CachingAllocator. Every function may be called
// from any thread, with a Place, one of its alternatives or a PlaceKey.

namespace internal {
SLUICE_API void* Alloc(PlaceKey place, size_t bytes);
SLUICE_API void Free(PlaceKey place, void* pointer);
SLUICE_API size_t Used(PlaceKey place);
}  // namespace internal

// Allocates `bytes` of uninitialised memory, 64-byte aligned. For 0 bytes it
// returns a unique valid pointer, which must be freed as well. Raises
// ResourceExhausted with the place's counters when there is not enough memory
// even without the cache, and what DeviceManager::Get raises.
template <typename Place>
void* Alloc(const Place& place, size_t bytes) {
  return internal::Alloc(PlaceKey(place), bytes);
}

// Frees what Alloc of the same place returned; nullptr is allowed. Raises
// InvalidArgument for any other pointer and for one that was freed before.
// Never allocates.
template <typename Place>
void Free(const Place& place, void* pointer) {
  internal::Free(PlaceKey(place), pointer);
}

// Returns the bytes in use: the sum of all requests that are not freed yet. It
// is 0 for an unused place; no device is touched.
template <typename Place>
size_t Used(const Place& place) {
  return internal::Used(PlaceKey(place));
}

struct Deleter {
  PlaceKey place;
  void operator()(void* pointer) const { internal::Free(place, pointer); }
};

// Memory that is freed when its owner is destroyed.
using UniqueMemory = std::unique_ptr<void, Deleter>;

template <typename Place>
UniqueMemory AllocUnique(const Place& place, size_t bytes) {
  return UniqueMemory(Alloc(place, bytes), Deleter{PlaceKey(place)});
}

}  // namespace sluice
