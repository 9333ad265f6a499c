#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/framework/op/registry.h"
#include "sluice/framework/values/attribute.h"
#include "sluice/framework/values/ddim.h"
#include "sluice/platform/dtype.h"
#include "sluice/platform/export.h"

namespace sluice {

// One input of an example. Its elements are drawn evenly from `low` to `high`;
// those of offsets (an argument that is called so) rise from 0 to `high`.
struct ExampleInput {
  std::string argument;   // a variadic argument repeats per variable
  bool of_kernel = true;  // it has the kernel's dtype, not `dtype`
  DType dtype = DType::kFloat32;
  DDim dims;
  double low = -1.5;
  double high = 1.5;
};

// A way to call an op, for trying its kernels. It is a description, so that a
// few lines cover tensors of any dtype. Equal examples make equal tensors. A
// value.
struct OpExample {
  std::string op;
  // The dtypes of the kernels that it is for; empty means all.
  std::vector<DType> dtypes;
  std::vector<ExampleInput> inputs;
  AttributeMap attributes;
  // Attributes of type dtype that get the kernel's dtype.
  std::vector<std::string> dtype_attributes;
};

// Converts an example to one line of JSON, and back:
//   {"op": "crop", "dtypes": ["float32"], "inputs": [["X", "T", [3, 4], -1.5,
//    1.5]], "attributes": {"offsets": [1, 2]}}
// "T" is the dtype of the kernel. Raises InvalidArgument, which names `where`
// ("FILE:3") and the member, for anything else.
SLUICE_API std::string ExampleToJson(const OpExample& example);
SLUICE_API OpExample ExampleFromJson(std::string_view json,
                                     std::string_view where);
// Parses one example a line. Skips empty lines and those that begin with #.
SLUICE_API std::vector<OpExample> ParseExamples(std::string_view lines,
                                                std::string_view file);
// Parses examples of registered ops. Also raises NotFound for unknown ops,
// arguments and attributes, and InvalidArgument for arguments and attributes
// that are missing or of the wrong type.
SLUICE_API std::vector<OpExample> ParseKnownExamples(std::string_view lines,
                                                     std::string_view file);

// The examples that Sluice's own kernels are tested with, as of this build.
// Defined in a generated file.
std::string_view BuiltinExampleLines();

SLUICE_API std::vector<std::string> OpsWithExamples();
// The built-in examples of one op; empty for an op from outside.
SLUICE_API const std::vector<OpExample>& BuiltinExamples(std::string_view op);

// Finds examples for an op without any, by trying. It tries examples of the ops
// with the most similar arguments and attributes; else a few shapes for all
// inputs, alike and in pairs, and a value of the right type for each attribute
// without a default. Returns those that the op's schema accepts with kernels of
// `dtype`.
SLUICE_API std::vector<OpExample> GuessExamples(const OpSchema& schema,
                                                DType dtype);

// The example with other sizes. Each size of its inputs in turn becomes 1, 2,
// the lengths of vectors and one more than these; integer attributes of that
// size change with it. The op may reject some of them.
SLUICE_API std::vector<OpExample> OtherSizes(const OpExample& example);

// Makes the numbers larger: floats of either sign become 100 times as large;
// for an op of one input, integers become too large for float32. Returns false
// if there are none for kernels of `dtype`.
SLUICE_API bool MakeLarger(DType dtype, OpExample* example);

// "X float32 [2, 3], Y float32 [4, 3], axis = 1".
SLUICE_API std::string ToString(const OpExample& example, DType dtype);

}  // namespace sluice
