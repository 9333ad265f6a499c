#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::framework {

// A checksum of bytes, 8 at a time as a little-endian word, the last word
// filled up with zeros:
//   h = count; for each word: h = rotate_left((h ^ word) * 0x9E3779B97F4A7C15,
//   31)
// Every step is one to one in the word and in h, so whatever changes within
// one word is always noticed, and a change of several words nearly always.
uint64_t Checksum(const void* bytes, size_t count);

}  // namespace sluice::framework
