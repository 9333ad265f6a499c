#pragma once

#include <initializer_list>
#include <string_view>

#include "sluice/platform/error.h"
#include "sluice/platform/function_ref.h"

namespace sluice::testing {

// Fails the test, at the caller's line, unless `call` throws a Error
// of this code and check whose text contains every fragment.
void ExpectError(ErrorCode code,
                 std::string_view check_id,
                 std::initializer_list<std::string_view> fragments,
                 FunctionRef<void()> call,
                 const char* file = __builtin_FILE(),
                 int line = __builtin_LINE());

}  // namespace sluice::testing
