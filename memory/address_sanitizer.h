#pragma once

#include <cstddef>

namespace sluice {

// Marks host memory (a cached block, the rounding after a block) as off limits
// for AddressSanitizer, and as usable again. Both do nothing in other builds.
void PoisonForSanitizer(void* pointer, size_t bytes) noexcept;
void UnpoisonForSanitizer(void* pointer, size_t bytes) noexcept;

}  // namespace sluice
