#include "sluice/platform/diagnostics/logging.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

class LoggingTest : public ::testing::Test {
 protected:
  LoggingTest() : level_(GetLogLevel()) {
    SetLogSink([this](LogLevel level, std::string_view line) {
      lines_.push_back(Format("{}: {}", ToString(level), line));
    });
  }
  ~LoggingTest() override {
    SetLogSink(nullptr);
    SetLogLevel(level_);
  }

  std::vector<std::string> lines_;

 private:
  LogLevel level_;
};

TEST_F(LoggingTest, PassesOnWhatReachesTheLevel) {
  SetLogLevel(LogLevel::kInfo);
  Log(LogLevel::kDebug, "no");
  Log(LogLevel::kInfo, "loaded {}", 3);
  Log(LogLevel::kError, "bad");
  EXPECT_EQ(lines_, (std::vector<std::string>{"info: loaded 3", "error: bad"}));
}

TEST_F(LoggingTest, OffIsSilent) {
  SetLogLevel(LogLevel::kOff);
  Log(LogLevel::kError, "bad");
  Log(LogLevel::kOff, "odd");
  EXPECT_TRUE(lines_.empty());
}

TEST_F(LoggingTest, ALineThatCannotBeFormattedIsDropped) {
  SetLogLevel(LogLevel::kDebug);
  EXPECT_NO_THROW(Log(LogLevel::kError, "{} {}", 1));
  EXPECT_TRUE(lines_.empty());
}

TEST_F(LoggingTest, GoesToStderrWithoutASink) {
  SetLogSink(nullptr);
  SetLogLevel(LogLevel::kWarning);
  ::testing::internal::CaptureStderr();
  Log(LogLevel::kWarning, "careful");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "sluice warning: careful\n");
}

}  // namespace
}  // namespace sluice
