#pragma once

#include <cstddef>
#include <cstdint>

#include "sluice/platform/export.h"

namespace sluice {

// A checksum of bytes, read as little-endian words of 8 bytes, the last word
// padded with zeros:
//   h = count; for each word: h = rotate_left((h ^ word) * 0x9E3779B97F4A7C15,
//   31)
// Every step is one to one in the word and in h, so a change within one word is
// always noticed, and a change of several words nearly always.
SLUICE_API uint64_t Checksum(const void* bytes, size_t count);

}  // namespace sluice
