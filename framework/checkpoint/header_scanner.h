#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::framework {

// Reads JSON as CheckpointHeader::Write writes it, front to back: no spaces
// between values, integers without sign, escapes as in AppendJsonString. Keeps
// nothing, so that running out of memory is an exception like any other. Raises
// DataLoss where the text goes on differently; errors say where.
class HeaderScanner {
 public:
  explicit HeaderScanner(std::string_view text) : text_(text) {}

  // Whether the text goes on with `token`, which is then passed.
  bool Accept(std::string_view token);
  void Expect(std::string_view token);
  std::string String();
  uint64_t Integer();
  // 16 hexadecimal digits, without quotes.
  uint64_t Hex();
  // Only spaces are left.
  void ExpectEnd();

  // Raises: the text should go on with `expected`.
  [[noreturn]] void Fail(std::string_view expected) const;

 private:
  char Next();

  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace sluice::framework
