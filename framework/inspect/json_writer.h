#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice {

// Writes JSON from front to back. Only the text is stored, so that exhausted
// memory raises an ordinary exception (destroying a tree of values may need
// memory). Used by one thread.
class JsonWriter {
 public:
  void BeginObject() { Begin('{'); }
  void EndObject() { End('}'); }
  void BeginArray() { Begin('['); }
  void EndArray() { End(']'); }
  // Must precede each value of an object.
  void Key(std::string_view key) {
    Separate();
    AppendJsonString(text_, key);
    text_ += ": ";
    after_key_ = true;
  }

  template <typename T>
  void Value(const T& value) {
    Separate();
    if constexpr (std::is_same_v<T, bool>) {
      text_ += value ? "true" : "false";
    } else if constexpr (std::is_floating_point_v<T>) {
      text_ += std::isfinite(value) ? Format("{}", value) : "null";
    } else if constexpr (std::is_arithmetic_v<T>) {
      text_ += Format("{}", value);
    } else {
      AppendJsonString(text_, value);
    }
  }
  template <typename T>
  void Value(const std::vector<T>& values) {
    BeginArray();
    for (const T& value : values) {
      Value(value);
    }
    EndArray();
  }
  template <typename T>
  void Field(std::string_view key, const T& value) {
    Key(key);
    Value(value);
  }

  const std::string& text() const { return text_; }

 private:
  void Begin(char bracket) {
    Separate();
    text_ += bracket;
    ++depth_;
    empty_ = true;
  }
  void End(char bracket) {
    --depth_;
    if (!empty_) NewLine();
    text_ += bracket;
    empty_ = false;
  }
  void Separate() {
    if (after_key_) {
      after_key_ = false;
      return;
    }
    if (!empty_) text_ += ',';
    if (depth_ > 0) NewLine();
    empty_ = false;
  }
  void NewLine() {
    text_ += '\n';
    text_.append(2 * depth_, ' ');
  }

  std::string text_;
  size_t depth_ = 0;
  bool empty_ = true;  // the innermost brackets are still empty
  bool after_key_ = false;
};

}  // namespace sluice
