#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sluice/laboratory/op_example.h"
#include "sluice/laboratory/tuning/kernel_run.h"
#include "sluice/platform/export.h"

namespace sluice {

// By argument; a variadic one is repeated.
using NamedInputs = std::vector<std::pair<std::string, Tensor>>;

// Replaces those inputs of a gradient op that are outputs of its forward op by
// what that computes of the others, and returns their arguments. Other ops have
// none.
SLUICE_API std::vector<std::string> ComputeForward(
    const std::string& op, const AttributeMap& attributes, NamedInputs* inputs);

// An example as an op with tensors. Each input has its own memory, surrounded
// by NaNs (or -1). A protected page begins less than 64 bytes after its end, so
// that a kernel that reads further ends the process. Used by one thread.
class SLUICE_API ExampleOp {
 public:
  // Makes the op for kernels of `dtype`, with all outputs unless
  // `required_only`. The forward op computes the inputs of its gradient op.
  // Raises what the op's schema raises, and ResourceExhausted.
  ExampleOp(const OpExample& example, DType dtype, bool required_only = false);
  ~ExampleOp();
  ExampleOp(const ExampleOp&) = delete;
  ExampleOp& operator=(const ExampleOp&) = delete;

  const IsolatedOp& op() const { return op_; }

 private:
  class Memory;

  IsolatedOp op_;
  std::vector<std::unique_ptr<Memory>> memory_;
};

}  // namespace sluice
