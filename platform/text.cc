#include "sluice/platform/text.h"

#include "sluice/platform/error.h"

namespace sluice {
namespace {

// Matches U+0000 to U+001F and U+007F to U+009F.
bool IsControl(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 2) {
    return first == 0xC2 && static_cast<unsigned char>(sequence[1]) < 0xA0;
  }
  return first < 0x20 || first == 0x7F;
}

void AppendControl(std::string& json, char c) {
  constexpr char kHex[] = "0123456789abcdef";
  const auto code = static_cast<unsigned char>(c);
  json += "\\u00";
  json += kHex[code >> 4];
  json += kHex[code & 15];
}

}  // namespace

size_t Utf8SequenceLength(std::string_view text) {
  const auto byte = [&](size_t i) {
    return static_cast<unsigned char>(i < text.size() ? text[i] : 0);
  };
  const auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned char first = byte(0);
  const unsigned char second = byte(1);
  if (first < 0x80) return text.empty() ? 0 : 1;
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

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8SequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string_view Utf8Prefix(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  constexpr size_t kLongest = 4;
  for (size_t back = 1; back <= kLongest && back <= bytes; ++back) {
    const size_t length = Utf8SequenceLength(text.substr(bytes - back));
    if (length == 0) continue;
    return text.substr(0, length <= back ? bytes : bytes - back);
  }
  return text.substr(0, bytes);
}

std::string Shown(std::string_view text) {
  constexpr size_t kMost = 80;
  constexpr char kHex[] = "0123456789abcdef";
  const size_t size = text.size();
  std::string shown;
  bool plain = size > 0;
  size_t at = 0;
  while (at < size) {
    const size_t length = Utf8SequenceLength(text.substr(at));
    const std::string_view next = text.substr(at, length == 0 ? 1 : length);
    if (at + next.size() > kMost) break;
    at += next.size();
    if (length != 0 && !IsControl(next)) {
      shown += next;
      continue;
    }
    plain = false;
    for (const char c : next) {
      const auto code = static_cast<unsigned char>(c);
      shown += "\\x";
      shown += kHex[code >> 4];
      shown += kHex[code & 15];
    }
  }
  if (at < size) return Format("\"{}...\" ({} bytes)", shown, size);
  return plain ? shown : Format("\"{}\"", shown);
}

void AppendJsonString(std::string& json, std::string_view text) {
  json += '"';
  while (!text.empty()) {
    const char c = text[0];
    const size_t length = Utf8SequenceLength(text);
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

}  // namespace sluice
