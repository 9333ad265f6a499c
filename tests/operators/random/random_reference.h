#pragma once

#include <array>
#include <cstdint>

// The words that random ops draw, computed naively by the definition of
// Philox4x32-10, for the first op of a program in a run of step 0.
namespace sluice::testing {

inline uint32_t RandomWord(int64_t seed, int64_t element) {
  const auto block = static_cast<uint64_t>(element / 4);
  std::array<uint64_t, 4> c = {block % (1ULL << 32), block >> 32, 0, 0};
  const auto unsigned_seed = static_cast<uint64_t>(seed);
  uint64_t key0 = unsigned_seed % (1ULL << 32), key1 = unsigned_seed >> 32;
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = 0xD2511F53ULL * c[0], b = 0xCD9E8D57ULL * c[2];
    c = {(b >> 32) ^ c[1] ^ key0, b % (1ULL << 32), (a >> 32) ^ c[3] ^ key1,
         a % (1ULL << 32)};
    key0 = (key0 + 0x9E3779B9ULL) % (1ULL << 32);
    key1 = (key1 + 0xBB67AE85ULL) % (1ULL << 32);
  }
  return static_cast<uint32_t>(c[element % 4]);
}

}  // namespace sluice::testing
