#pragma once

#include <cstdint>

// Philox4x32-10, the counter-based generator of J. Salmon, M. Moraes, R. Dror
// and D. Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). Ten
// rounds convert a counter of four words and a key of two into four random
// words. Shared by host and device code.
namespace sluice {

struct PhiloxCounter {
  uint32_t word[4];
};

constexpr PhiloxCounter Philox(PhiloxCounter c, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53} * c.word[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57} * c.word[2];
    c = {{static_cast<uint32_t>(product1 >> 32) ^ c.word[1] ^ key0,
          static_cast<uint32_t>(product1),
          static_cast<uint32_t>(product0 >> 32) ^ c.word[3] ^ key1,
          static_cast<uint32_t>(product0)}};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return c;
}

// The random words of one op in one run. Element i of a tensor has word i % 4
// of block i / 4, on every thread and device.
struct RandomStream {
  uint64_t seed = 0;  // the op's attribute
  uint32_t op = 0;    // OpKernelConstruction::op_index
  uint64_t step = 0;  // OpKernelContext::step, below 2^48

  // `number` must be below 2^48.
  constexpr PhiloxCounter Counter(uint64_t number) const {
    const auto high = (number >> 32) | (step >> 32 << 16);
    return {{static_cast<uint32_t>(number), static_cast<uint32_t>(high), op,
             static_cast<uint32_t>(step)}};
  }
  constexpr PhiloxCounter Block(uint64_t number) const {
    return Philox(Counter(number), static_cast<uint32_t>(seed),
                  static_cast<uint32_t>(seed >> 32));
  }

  // The second word of an element is this many blocks later. No tensor has that
  // many elements.
  static constexpr uint64_t kSecondWords = uint64_t{1} << 47;
};

// Returns a number in [0, 1) of 53 random bits, from an element's two words.
constexpr double Uniform53(uint32_t word, uint32_t second) {
  const uint64_t bits = (uint64_t{word} << 21) | (second >> 11);
  return static_cast<double>(bits) * (1.0 / 9007199254740992.0);
}

}  // namespace sluice
