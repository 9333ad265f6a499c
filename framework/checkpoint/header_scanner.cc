#include "sluice/framework/checkpoint/header_scanner.h"

#include <limits>

#include "sluice/platform/error.h"

namespace sluice {

namespace {

// Returns -1 for any other character than a lower-case hexadecimal digit.
int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

void HeaderScanner::Fail(std::string_view expected) const {
  Raise(ErrorCode::kDataLoss, "checkpoint.header",
        "the header is damaged: expected {} at byte {} of {}", expected,
        position_, text_.size());
}

bool HeaderScanner::Accept(std::string_view token) {
  if (text_.substr(position_, token.size()) != token) return false;
  position_ += token.size();
  return true;
}

void HeaderScanner::Expect(std::string_view token) {
  if (!Accept(token)) Fail(token);
}

char HeaderScanner::Next() {
  if (position_ == text_.size()) Fail("more");
  return text_[position_++];
}

std::string HeaderScanner::String() {
  Expect("\"");
  std::string value;
  for (char c = Next(); c != '"'; c = Next()) {
    if (c == '\\') {
      c = Next();
      if (c == 'n') {
        c = '\n';
      } else if (c == 'u') {
        Expect("00");
        const int high = HexDigit(Next());
        const int low = HexDigit(Next());
        if (high < 0 || low < 0) Fail("a character code");
        c = static_cast<char>(high * 16 + low);
      } else if (c != '"' && c != '\\') {
        Fail("an escaped character");
      }
    }
    value += c;
  }
  return value;
}

uint64_t HeaderScanner::Integer() {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  const size_t begin = position_;
  uint64_t value = 0;
  while (position_ < text_.size() && text_[position_] >= '0' &&
         text_[position_] <= '9') {
    const auto digit = static_cast<uint64_t>(text_[position_++] - '0');
    if (value > (kMax - digit) / 10) Fail("a 64-bit integer");
    value = value * 10 + digit;
  }
  if (position_ == begin) Fail("an integer");
  return value;
}

uint64_t HeaderScanner::Hex() {
  uint64_t value = 0;
  for (int i = 0; i < 16; ++i) {
    const int digit = HexDigit(Next());
    if (digit < 0) Fail("a hexadecimal digit");
    value = value * 16 + static_cast<uint64_t>(digit);
  }
  return value;
}

void HeaderScanner::ExpectEnd() {
  while (Accept(" ")) {
  }
  if (position_ != text_.size()) Fail("the end");
}

}  // namespace sluice
