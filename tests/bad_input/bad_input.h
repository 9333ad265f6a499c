#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/framework/values/attribute.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/platform/error.h"
#include "sluice/platform/function_ref.h"

// Bad input raises a named error and writes nothing, and the next run works.
namespace sluice::testing {

using OpArguments = std::vector<std::pair<std::string, Tensor>>;

// Runs a small program and fails the test unless its result is right.
void ExpectNextRunWorks();

// Calls ExpectError for `call`, and then expects the next run to work.
void ExpectRefusedInput(ErrorCode code,
                        std::string_view check_id,
                        std::initializer_list<std::string_view> fragments,
                        FunctionRef<void()> call,
                        const char* file = __builtin_FILE(),
                        int line = __builtin_LINE());

// Expects the op to be refused when it runs alone, when it is added to a
// program, which must not change, and, if only sizes are wrong, when a program
// of unknown sizes is fed.
void ExpectRefusedOp(ErrorCode code,
                     std::string_view check_id,
                     std::initializer_list<std::string_view> fragments,
                     const std::string& op,
                     const OpArguments& inputs,
                     const AttributeMap& attributes = {},
                     const char* file = __builtin_FILE(),
                     int line = __builtin_LINE());

// Expects the op to be refused for its data at run time. `output` is bound to a
// persistable variable of this shape, which must not change.
void ExpectRefusedData(std::string_view check_id,
                       std::initializer_list<std::string_view> fragments,
                       const std::string& op,
                       const OpArguments& inputs,
                       const AttributeMap& attributes,
                       const DDim& output_dims,
                       ErrorCode code,
                       const char* file = __builtin_FILE(),
                       int line = __builtin_LINE());

// `count` float32 values 0, 1, 2, ... in that shape.
Tensor Floats(const DDim& dims);

}  // namespace sluice::testing
