#include "sluice/platform/json.h"

#include <cstddef>

namespace sluice::platform {
namespace {

// Bytes of the UTF-8 sequence that `text` begins with, or 0 if it is none
// (Unicode 15, table 3-7).
size_t SequenceLength(std::string_view text) {
  const auto byte = [&](size_t i) {
    return static_cast<unsigned char>(i < text.size() ? text[i] : 0);
  };
  const auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned char first = byte(0);
  const unsigned char second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if ((first & 0xF0) == 0xE0) {
    const bool overlong = first == 0xE0 && second < 0xA0;
    const bool surrogate = first == 0xED && second > 0x9F;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && second < 0x90;
    const bool too_high = first == 0xF4 && second > 0x8F;
    const bool valid = follows(1) && follows(2) && follows(3);
    return valid && !overlong && !too_high ? 4 : 0;
  }
  return 0;
}

void AppendControl(std::string& json, char c) {
  constexpr char kHex[] = "0123456789abcdef";
  const auto code = static_cast<unsigned char>(c);
  json += "\\u00";
  json += kHex[code >> 4];
  json += kHex[code & 15];
}

}  // namespace

void AppendJsonString(std::string& json, std::string_view text) {
  json += '"';
  while (!text.empty()) {
    const char c = text[0];
    const size_t length = SequenceLength(text);
    if (length == 0) {
      json += "\xEF\xBF\xBD";
    } else if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (c == '\n') {
      json += "\\n";
    } else if (length == 1 && static_cast<unsigned char>(c) < 0x20) {
      AppendControl(json, c);
    } else {
      json += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  json += '"';
}

}  // namespace sluice::platform
