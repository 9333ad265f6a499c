#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sluice/platform/error.h"

namespace sluice {

// The result of calls that do not throw: success, or the error. For kernels and
// shape functions in TensorFlow's style (op_requires.h, infer_shape_context.h);
// Sluice itself throws Error. A value type.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT

  static Status OK() { return {}; }
  bool ok() const { return !error_.has_value(); }
  // Requires that ok() is false.
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

// Runs `call` and returns the error that it raises.
template <typename Call>
Status Try(const Call& call) {
  try {
    call();
    return Status::OK();
  } catch (const Error& error) {
    return error;
  }
}

// Makes an error for OP_REQUIRES:
//   errors::InvalidArgument("groups must be positive, got {}", groups)
// in fmt's format, or in TensorFlow's, if the text has no braces:
//   errors::InvalidArgument("groups must be positive, got ", groups)
namespace errors {

template <typename... Args>
Status Make(ErrorCode code, fmt::string_view format, const Args&... args) {
  constexpr std::string_view kCheck = "kernel.op_requires";
  std::string text(format.data(), format.size());
  if (text.find('{') != std::string::npos) {
    return Error(code, kCheck, Format(format, args...));
  }
  ((text += Format("{}", args)), ...);
  return Error(code, kCheck, text);
}
template <typename... Args>
Status InvalidArgument(fmt::string_view format, const Args&... args) {
  return Make(ErrorCode::kInvalidArgument, format, args...);
}
template <typename... Args>
Status OutOfRange(fmt::string_view format, const Args&... args) {
  return Make(ErrorCode::kOutOfRange, format, args...);
}
template <typename... Args>
Status Unimplemented(fmt::string_view format, const Args&... args) {
  return Make(ErrorCode::kUnimplemented, format, args...);
}
template <typename... Args>
Status Internal(fmt::string_view format, const Args&... args) {
  return Make(ErrorCode::kInternal, format, args...);
}

}  // namespace errors
}  // namespace sluice

// Returns from a function with the Status of a failed call.
#define SLUICE_RETURN_IF_ERROR(...)                                       \
  do {                                                                    \
    if (::sluice::Status sluice_status(__VA_ARGS__); !sluice_status.ok()) \
        [[unlikely]]                                                      \
      return sluice_status;                                               \
  } while (false)
