#include "sluice/platform/diagnostics/logging.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <string>
#include <utility>

namespace sluice {
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
  constexpr std::string_view kNames[] = {"debug", "info", "warning", "error",
                                         "off"};
  const auto index = static_cast<size_t>(level);
  return index < std::size(kNames) ? kNames[index] : "unknown";
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

}  // namespace sluice
