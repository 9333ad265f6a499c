#include "sluice/laboratory/records/record_text.h"

#include <bit>
#include <cstring>

namespace sluice {
namespace {

constexpr uint64_t kFirst = 0x9E3779B97F4A7C15U;
constexpr uint64_t kSecond = 0xC2B2AE3D27D4EB4FU;

uint64_t Stir(uint64_t hash, uint64_t word, uint64_t factor) {
  return std::rotl((hash ^ word) * factor, 31);
}

// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
uint64_t Finish(uint64_t hash) {
  hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9U;
  hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBU;
  return hash ^ (hash >> 31);
}

}  // namespace

RecordText::RecordText(std::string_view from) : text(from) {
  uint64_t a = from.size();
  uint64_t b = ~a;
  const char* at = from.data();
  size_t left = from.size();
  // Different factors make the two hashes independent.
  while (left > 0) {
    uint64_t word = 0;
    const size_t count = left < sizeof(word) ? left : sizeof(word);
    if (count == sizeof(word)) {
      std::memcpy(&word, at, sizeof(word));
    } else {
      std::memcpy(&word, at, count);
    }
    a = Stir(a, word, kFirst);
    b = Stir(b, word, kSecond);
    at += count;
    left -= count;
  }
  low = Finish(a);
  high = Finish(b ^ kFirst);
}

}  // namespace sluice
