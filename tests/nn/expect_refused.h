#pragma once

#include <string>

#include "tests/testing/expect_error.h"

// Expects an error of `check` that names the calling file and line.
#define EXPECT_REFUSED(check, fragment, ...)                         \
  ExpectError(ErrorCode::kInvalidArgument, check,                    \
              {fragment, std::string(__FILE__).substr(               \
                             std::string(__FILE__).rfind('/') + 1) + \
                             ":" + std::to_string(__LINE__)},        \
              [&] { __VA_ARGS__; })
