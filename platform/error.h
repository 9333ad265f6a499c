#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

#include "sluice/platform/export.h"

namespace sluice::platform {

enum class ErrorCode : unsigned char {
  kInvalidArgument,     // the caller passed something that can never work
  kOutOfRange,          // an index, label or offset beyond its bounds
  kNotFound,            // an unknown op, attribute, variable, kernel or file
  kFailedPrecondition,  // right call, wrong moment (unallocated, forked, ...)
  kUnimplemented,       // known, but not in this build
  kResourceExhausted,   // no memory, no threads
  kDataLoss,            // a damaged file
  kDeviceLost,          // the device reported a fault that it keeps
  kInternal,            // a bug in Sluice or in a kernel
};

SLUICE_API std::string_view ToString(ErrorCode code);

// What every failed check throws. `what()` is one sentence that names the op,
// the argument, what was expected and what came, followed by one line for each
// AddContext (the op's index, the user's line). Values are immutable once
// thrown except for AddContext, which the executor calls while it unwinds;
// copies share their text until then. Making, copying and extending an Error
// never throws and never calls operator new, so that running out of memory can
// be reported too: text that finds no room is dropped, the code never.
class SLUICE_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code,
        std::string_view check_id,
        std::string_view message) noexcept;
  Error(const Error& other) noexcept;
  Error& operator=(const Error& other) noexcept;
  ~Error() override;

  ErrorCode code() const noexcept { return code_; }
  // The id of the check that failed, e.g. "crop.offset_range".
  std::string_view check_id() const noexcept;
  // The sentence and its context lines, without the code.
  const char* what() const noexcept override;
  void AddContext(std::string_view line) noexcept;

 private:
  struct Text;
  ErrorCode code_;
  Text* text_;  // counted and malloc'ed; null when there was no room
};

// Throws Error unless a test has switched the check off.
SLUICE_API void FailCheck(ErrorCode code,
                          std::string_view check_id,
                          fmt::string_view format,
                          fmt::format_args args);

// Throws Error. When a test has switched the check off, the Error is one that
// no test expects (Internal, "check.disabled"): there is no way to go on.
[[noreturn]] SLUICE_API void RaiseError(ErrorCode code,
                                        std::string_view check_id,
                                        fmt::string_view format,
                                        fmt::format_args args);

// For the boundary where std::bad_alloc becomes a named error.
[[noreturn]] SLUICE_API void RaiseOutOfMemory();

// fmt::format for messages, with the library's formatting code kept inside
// libsluice.
SLUICE_API std::string FormatArgs(fmt::string_view format,
                                  fmt::format_args args);

// For tests: the named check passes whatever it finds; "" switches all on.
SLUICE_API void DisableCheckForTesting(std::string_view check_id);

// Passes numbers and strings on as they are and everything else through the
// ToString that its namespace offers.
template <typename T>
decltype(auto) Printable(const T& value) {
  if constexpr (std::is_arithmetic_v<T> ||
                std::is_convertible_v<const T&, fmt::string_view>) {
    return (value);
  } else {
    return ToString(value);
  }
}

namespace internal {
template <typename... Values>
void FailCheckWith(ErrorCode code,
                   std::string_view check_id,
                   fmt::string_view format,
                   const Values&... values) {
  FailCheck(code, check_id, format, fmt::make_format_args(values...));
}
template <typename... Values>
[[noreturn]] void RaiseWith(ErrorCode code,
                            std::string_view check_id,
                            fmt::string_view format,
                            const Values&... values) {
  RaiseError(code, check_id, format, fmt::make_format_args(values...));
}
template <typename... Values>
std::string FormatWith(fmt::string_view format, const Values&... values) {
  return FormatArgs(format, fmt::make_format_args(values...));
}
}  // namespace internal

template <typename... Args>
std::string Format(fmt::string_view format, const Args&... args) {
  return internal::FormatWith(format, Printable(args)...);
}

// What SLUICE_ENFORCE calls: returns when a test has switched the check off.
template <typename... Args>
[[gnu::cold, gnu::noinline]] void Fail(ErrorCode code,
                                       std::string_view check_id,
                                       fmt::string_view format,
                                       const Args&... args) {
  internal::FailCheckWith(code, check_id, format, Printable(args)...);
}

// Throws Error where no condition is left to check. Same ids, same arguments.
template <typename... Args>
[[noreturn, gnu::cold, gnu::noinline]] void Raise(ErrorCode code,
                                                  std::string_view check_id,
                                                  fmt::string_view format,
                                                  const Args&... args) {
  internal::RaiseWith(code, check_id, format, Printable(args)...);
}

}  // namespace sluice::platform

// Throws platform::Error when `condition` is false. `check_id` is a string
// literal, `component.what`, that no other check has. The rest is an fmt
// format string and its arguments; Sluice's own types may be passed directly.
#define SLUICE_ENFORCE(condition, code, check_id, ...)             \
  do {                                                             \
    if (!(condition)) [[unlikely]] {                               \
      ::sluice::platform::Fail(::sluice::platform::code, check_id, \
                               __VA_ARGS__);                       \
    }                                                              \
  } while (false)
