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

namespace sluice::framework {

// One input of an example. Its elements are drawn evenly from `low` to `high`.
struct ExampleInput {
  std::string argument;   // of a variadic argument once for each variable
  bool of_kernel = true;  // it has the dtype of the kernel, not `dtype`
  platform::DType dtype = platform::DType::kFloat32;
  DDim dims;
  double low = -1.5;
  double high = 1.5;
};

// A way to call an op: what its kernels are tried with. A description, so that
// a few lines stand for tensors of any dtype; the same one always gives the
// same tensors. A value.
struct OpExample {
  std::string op;
  // Of the kernels that it is for; empty: of all.
  std::vector<platform::DType> dtypes;
  std::vector<ExampleInput> inputs;
  AttributeMap attributes;
  // Attributes of type dtype that have the dtype of the kernel.
  std::vector<std::string> dtype_attributes;
};

// One line of JSON, and back:
//   {"op": "crop", "dtypes": ["float32"], "inputs": [["X", "T", [3, 4], -1.5,
//    1.5]], "attributes": {"offsets": [1, 2]}}
// "T" stands for the dtype of the kernel. Raises InvalidArgument, which names
// `where` ("FILE:3") and the member, for anything else.
SLUICE_API std::string ExampleToJson(const OpExample& example);
SLUICE_API OpExample ExampleFromJson(std::string_view json,
                                     std::string_view where);
// One example a line; empty lines and those that begin with # are left out.
SLUICE_API std::vector<OpExample> ParseExamples(std::string_view lines,
                                                std::string_view file);
// The same for examples of registered ops. Raises also NotFound for ops,
// arguments and attributes that there are not, and InvalidArgument for
// arguments and attributes that are missing or of another type.
SLUICE_API std::vector<OpExample> ParseKnownExamples(std::string_view lines,
                                                     std::string_view file);

// The lines that Sluice's own kernels are tested with, as they were when the
// library was built. Defined in the file that the build writes.
SLUICE_API std::string_view BuiltinExampleLines();

SLUICE_API std::vector<std::string> OpsWithExamples();
// Those of one op; empty for an op of somebody else.
SLUICE_API const std::vector<OpExample>& BuiltinExamples(std::string_view op);

// Examples for an op that nobody described, found by trying: those of the ops
// whose arguments and attributes are most like its own; else a few shapes for
// all inputs, alike and in pairs, and a value of its type for each attribute
// without a default. What the op's schema takes with kernels of `dtype`.
SLUICE_API std::vector<OpExample> GuessExamples(const OpSchema& schema,
                                                platform::DType dtype);

// The example with other sizes: each size of its inputs in turn becomes 1, 2,
// the lengths of vectors and one more than these; integer attributes of that
// size change with it. Not each of them is one that the op takes.
SLUICE_API std::vector<OpExample> OtherSizes(const OpExample& example);

// The example with larger numbers: floats of either sign 100 times as large;
// for an op of one input, integers that float32 does not hold. False where
// there are none for kernels of `dtype`.
SLUICE_API bool MakeLarger(platform::DType dtype, OpExample* example);

// "X float32 [2, 3], Y float32 [4, 3], axis = 1".
SLUICE_API std::string ToString(const OpExample& example,
                                platform::DType dtype);

}  // namespace sluice::framework
