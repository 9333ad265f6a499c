#include "tests/testing/expect_error.h"

#include <exception>
#include <string>

#include <gtest/gtest.h>

namespace sluice::testing {
namespace {

void CheckError(const Error& error,
                ErrorCode code,
                std::string_view check_id,
                std::initializer_list<std::string_view> fragments,
                const char* file,
                int line) {
  const std::string_view text = error.what();
  if (error.code() != code || error.check_id() != check_id) {
    ADD_FAILURE_AT(file, line) << "expected " << ToString(code) << " from "
                               << check_id << ", got " << ToString(error.code())
                               << " from " << error.check_id() << ": " << text;
  }
  for (std::string_view fragment : fragments) {
    if (text.find(fragment) != std::string_view::npos) continue;
    ADD_FAILURE_AT(file, line)
        << "expected '" << fragment << "' in the error: " << text;
  }
}

}  // namespace

void ExpectError(ErrorCode code,
                 std::string_view check_id,
                 std::initializer_list<std::string_view> fragments,
                 FunctionRef<void()> call,
                 const char* file,
                 int line) {
  try {
    call();
  } catch (const Error& error) {
    CheckError(error, code, check_id, fragments, file, line);
    return;
  } catch (const std::exception& error) {
    ADD_FAILURE_AT(file, line) << "expected an Error from " << check_id
                               << ", got an exception: " << error.what();
    return;
  }
  ADD_FAILURE_AT(file, line)
      << "expected " << ToString(code) << " from " << check_id << ", got none";
}

}  // namespace sluice::testing
