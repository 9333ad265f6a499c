#include "sluice/platform/diagnostics/logging.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

namespace sluice::platform {
namespace {

constexpr LogLevel kLevels[] = {LogLevel::kDebug, LogLevel::kInfo,
                                LogLevel::kWarning, LogLevel::kError,
                                LogLevel::kOff};

LogLevel LevelOfEnvironment() {
  const char* name = std::getenv("SLUICE_LOG_LEVEL");
  for (LogLevel level : kLevels) {
    if (name != nullptr && ToString(level) == name) return level;
  }
  return LogLevel::kWarning;
}

std::atomic<LogLevel>& Level() {
  static std::atomic<LogLevel> level{LevelOfEnvironment()};
  return level;
}

struct Sink {
  std::mutex mutex;
  LogSink write;
};

Sink& CurrentSink() {
  static auto* sink = new Sink;
  return *sink;
}

}  // namespace

std::string_view ToString(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
    case LogLevel::kOff:
      return "off";
  }
  return "unknown";
}

LogLevel GetLogLevel() {
  return Level().load(std::memory_order_relaxed);
}

void SetLogLevel(LogLevel level) {
  Level().store(level);
}

void SetLogSink(LogSink sink) {
  Sink& current = CurrentSink();
  std::lock_guard<std::mutex> lock(current.mutex);
  current.write = std::move(sink);
}

void WriteLog(LogLevel level, std::string_view line) {
  if (level < GetLogLevel() || level == LogLevel::kOff) return;
  Sink& current = CurrentSink();
  std::lock_guard<std::mutex> lock(current.mutex);
  if (current.write) {
    current.write(level, line);
    return;
  }
  const std::string text = Format("sluice {}: {}\n", ToString(level), line);
  std::fputs(text.c_str(), stderr);
}

}  // namespace sluice::platform
