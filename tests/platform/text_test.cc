#include "sluice/platform/text.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice {
namespace {

TEST(TextTest, KnowsUtf8) {
  for (const char* text :
       {"", "plain", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x99\x82"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
  // Cut off, a lone continuation, overlong, a surrogate, past U+10FFFF.
  for (const char* text : {"\xC3", "a\x80", "\xC0\x80", "\xE0\x80\x80",
                           "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF"}) {
    EXPECT_FALSE(IsUtf8(text)) << Shown(text);
  }
}

TEST(TextTest, ShowsPlainTextAsItIs) {
  EXPECT_EQ(Shown("fc_0.w_0"), "fc_0.w_0");
  EXPECT_EQ(Shown("gr\xC3\xB6\xC3\x9F"
                  "e \"x\""),
            "gr\xC3\xB6\xC3\x9F"
            "e \"x\"");
  EXPECT_EQ(Shown(std::string(80, 'a')), std::string(80, 'a'));
}

TEST(TextTest, EscapesWhatNobodyCouldRead) {
  EXPECT_EQ(Shown(""), "\"\"");
  EXPECT_EQ(Shown("a\nb"), "\"a\\x0ab\"");
  EXPECT_EQ(Shown(std::string("a\0b", 3)), "\"a\\x00b\"");
  EXPECT_EQ(Shown("\xFF\x7F"), "\"\\xff\\x7f\"");
  EXPECT_EQ(Shown("\xC2\x85"), "\"\\xc2\\x85\"");  // a C1 control
}

TEST(TextTest, CutsLongTextBetweenCharacters) {
  EXPECT_EQ(Shown(std::string(1000000, 'a')),
            "\"" + std::string(80, 'a') + "...\" (1000000 bytes)");
  const std::string text = std::string(79, 'a') + "\xC3\xA9";
  EXPECT_EQ(Shown(text), "\"" + std::string(79, 'a') + "...\" (81 bytes)");
}

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

TEST(Text, APrefixEndsAfterASequence) {
  EXPECT_EQ(Utf8Prefix("abc", 3), "abc");
  EXPECT_EQ(Utf8Prefix("abc", 2), "ab");
  EXPECT_EQ(Utf8Prefix("abc", 0), "");
  const std::string text = "a\u00fc\u20acb";  // 1, 2, 3 and 1 bytes
  const size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 7, 7};
  for (size_t bytes = 0; bytes < 9; ++bytes) {
    EXPECT_EQ(Utf8Prefix(text, bytes).size(), expected[bytes]) << bytes;
  }
}

}  // namespace
}  // namespace sluice
