#include "sluice/platform/json.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::platform {
namespace {

std::string Quote(std::string_view text) {
  std::string json;
  AppendJsonString(json, text);
  return json;
}

TEST(JsonTest, EveryByteReadsBack) {
  std::string text;
  for (int c = 0; c < 128; ++c)
    text += static_cast<char>(c);
  text += "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x8C\x8A";  // two, three, four bytes
  EXPECT_EQ(nlohmann::json::parse(Quote(text)).get<std::string>(), text);
}

TEST(JsonTest, WhatIsNotUtf8IsReplaced) {
  // Alone, overlong, a surrogate, too high, cut off.
  for (const char* text :
       {"\x80", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
        "\xF0\x80\x80\x80", "\xE2\x82", "\xFF", "\xC3"}) {
    const std::string json = Quote(text);
    EXPECT_NE(json.find("\xEF\xBF\xBD"), std::string::npos) << json;
    EXPECT_TRUE(nlohmann::json::accept(json)) << json;
  }
  EXPECT_EQ(Quote("a\xFFz"), "\"a\xEF\xBF\xBDz\"");
}

TEST(JsonTest, AppendsToWhatIsThere) {
  std::string json = "{";
  AppendJsonString(json, "a\"b\\c\nd");
  EXPECT_EQ(json, R"({"a\"b\\c\nd")");
}

}  // namespace
}  // namespace sluice::platform
