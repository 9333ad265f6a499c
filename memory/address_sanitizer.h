#pragma once

#include <cstddef>

namespace sluice::memory {

// Tells AddressSanitizer that nobody may touch host memory (cached blocks, the
// rounding behind a block), and that it may be touched again. Nothing in other
// builds.
void PoisonForSanitizer(void* pointer, size_t bytes) noexcept;
void UnpoisonForSanitizer(void* pointer, size_t bytes) noexcept;

}  // namespace sluice::memory
