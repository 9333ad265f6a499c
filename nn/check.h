#pragma once

#include "sluice/framework/program/program.h"
#include "sluice/platform/error.h"

namespace sluice::nn {

// SLUICE_ENFORCE whose error names `location`, the user's line.
template <typename... Args>
void Require(bool condition,
             const SourceLocation& location,
             ErrorCode code,
             const char* check_id,
             fmt::string_view format,
             const Args&... args) {
  if (condition) return;
  try {
    Raise(code, check_id, format, args...);
  } catch (Error& error) {
    AddLocation(location, &error);
    throw;
  }
}

}  // namespace sluice::nn
