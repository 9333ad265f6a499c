#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace sluice {

// Scans JSON in the form of CheckpointHeader::Write, front to back: no spaces
// between values, integers without sign, escapes as in AppendJsonString. It
// stores nothing, so exhausted memory raises an ordinary exception. Raises
// DataLoss with the position for any other text.
class HeaderScanner {
 public:
  explicit HeaderScanner(std::string_view text) : text_(text) {}

  // Skips `token` if it comes next; returns whether it did.
  bool Accept(std::string_view token);
  void Expect(std::string_view token);
  std::string String();
  uint64_t Integer();
  // Reads 16 hexadecimal digits without quotes.
  uint64_t Hex();
  // Requires that only spaces are left.
  void ExpectEnd();

  // Raises an error that `expected` should come next.
  [[noreturn]] void Fail(std::string_view expected) const;

 private:
  char Next();

  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace sluice
