#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace sluice::fuzz {

// Choices that the bytes of an input determine, from first to last: equal bytes
// lead to equal choices. Past the end, all are 0. Refers to the bytes, which
// must outlive it.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : left_(bytes) {}

  // 0 to count - 1; 0 for a count of 0.
  size_t Next(size_t count) {
    if (count <= 1) return 0;
    size_t value = Byte();
    if (count > 256) value = value << 8 | Byte();
    return value % count;
  }
  // True once in `times`.
  bool Once(size_t times) { return Next(times) == times - 1; }
  uint64_t Word() {
    uint64_t word = 0;
    for (int i = 0; i < 8; ++i) {
      word = word << 8 | Byte();
    }
    return word;
  }
  template <typename Values>
  auto Of(const Values& values) -> decltype(values[0]) {
    return values[Next(std::size(values))];
  }
  bool ended() const { return left_.empty(); }

 private:
  uint8_t Byte() {
    if (left_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(left_.front());
    left_.remove_prefix(1);
    return byte;
  }

  std::string_view left_;
};

}  // namespace sluice::fuzz
