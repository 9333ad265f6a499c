#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

#include "sluice/platform/export.h"

namespace sluice {

enum class ErrorCode : unsigned char {
  kInvalidArgument,     // the caller passed something that can never work
  kOutOfRange,          // an index, label or offset beyond its bounds
  kNotFound,            // an unknown op, attribute, variable, kernel or file
  kFailedPrecondition,  // right call, wrong moment (unallocated, forked, ...)
  kUnimplemented,       // known, but not in this build
  kResourceExhausted,   // no memory, no threads
  kDataLoss,            // a damaged file
  kDeviceLost,          // the device reported a permanent fault
  kInternal,            // a bug in Sluice or in a kernel
};

SLUICE_API std::string_view ToString(ErrorCode code);

// The exception of every failed check. `what()` is one sentence that names the
// op, the argument, what was expected and what came, followed by one line for
// each AddContext (the op's index, the user's line). A thrown Error changes
// only by AddContext, which the executor calls while it unwinds; copies share
// their text until then. Making, copying and extending an Error never throws
// and never calls operator new, so that it can report exhausted memory: text
// that does not fit is dropped, the code never.
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

// Throws Error unless a test has disabled the check.
SLUICE_API void FailCheck(ErrorCode code,
                          std::string_view check_id,
                          fmt::string_view format,
                          fmt::format_args args);

// Throws Error. When a test has disabled the check, the Error is one that no
// test expects (Internal, "check.disabled"): execution cannot continue.
[[noreturn]] SLUICE_API void RaiseError(ErrorCode code,
                                        std::string_view check_id,
                                        fmt::string_view format,
                                        fmt::format_args args);

// For boundaries that convert std::bad_alloc to an Error.
[[noreturn]] SLUICE_API void RaiseOutOfMemory();

// fmt::format for messages, with the library's formatting code kept inside
// libsluice.
SLUICE_API std::string FormatArgs(fmt::string_view format,
                                  fmt::format_args args);

// For tests: the named check always passes; "" enables all checks.
SLUICE_API void DisableCheckForTesting(std::string_view check_id);

// Returns numbers and strings unchanged; converts other types by the ToString
// of their namespace.
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

// Called by SLUICE_ENFORCE; returns when a test has disabled the check.
template <typename... Args>
[[gnu::cold, gnu::noinline]] void Fail(ErrorCode code,
                                       std::string_view check_id,
                                       fmt::string_view format,
                                       const Args&... args) {
  internal::FailCheckWith(code, check_id, format, Printable(args)...);
}

// Throws Error unconditionally; ids and arguments are as for SLUICE_ENFORCE.
template <typename... Args>
[[noreturn, gnu::cold, gnu::noinline]] void Raise(ErrorCode code,
                                                  std::string_view check_id,
                                                  fmt::string_view format,
                                                  const Args&... args) {
  internal::RaiseWith(code, check_id, format, Printable(args)...);
}

}  // namespace sluice

// Throws Error when `condition` is false. `check_id` is a string
// literal, `component.what`, that no other check has. The rest is an fmt
// format string and its arguments; Sluice's own types may be passed directly.
#define SLUICE_ENFORCE(condition, code, check_id, ...)       \
  do {                                                       \
    if (!(condition)) [[unlikely]] {                         \
      ::sluice::Fail(::sluice::code, check_id, __VA_ARGS__); \
    }                                                        \
  } while (false)
