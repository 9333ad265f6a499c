#pragma once

#include <functional>
#include <string_view>

#include "sluice/platform/error.h"
#include "sluice/platform/export.h"

namespace sluice {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

SLUICE_API std::string_view ToString(LogLevel level);

// Lines below this level are dropped. The default is the environment variable
// SLUICE_LOG_LEVEL (debug, info, warning, error or off), else warning.
SLUICE_API LogLevel GetLogLevel();
SLUICE_API void SetLogLevel(LogLevel level);

// Receives the lines instead of stderr; nullptr restores stderr. It is called
// for one line at a time, on the thread that logs it.
using LogSink = std::function<void(LogLevel, std::string_view line)>;
SLUICE_API void SetLogSink(LogSink sink);

SLUICE_API void WriteLog(LogLevel level, std::string_view line);

// Log(LogLevel::kInfo, "loaded plug-in {}", path). Never raises.
template <typename... Args>
void Log(LogLevel level, fmt::string_view format, const Args&... args) {
  if (level < GetLogLevel()) return;
  try {
    WriteLog(level, Format(format, args...));
  } catch (...) {  // a line that cannot be made is not worth failing for
  }
}

}  // namespace sluice
