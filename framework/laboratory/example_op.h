#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sluice/framework/laboratory/op_example.h"
#include "sluice/framework/tuning/kernel_run.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// An example as an op with tensors. Each input has memory of its own: NaNs (or
// -1) lie around it, and a page that nobody may touch begins less than 64
// bytes after its end, so that a kernel that reads further ends the process.
// Used by one thread.
class SLUICE_API ExampleOp {
 public:
  // For kernels of `dtype`. All outputs are asked for, unless `required_only`.
  // Inputs of a gradient op that are outputs of the op itself are computed by
  // that. Raises what the op's schema refuses, and ResourceExhausted.
  ExampleOp(const OpExample& example,
            platform::DType dtype,
            bool required_only = false);
  ~ExampleOp();
  ExampleOp(const ExampleOp&) = delete;
  ExampleOp& operator=(const ExampleOp&) = delete;

  const IsolatedOp& op() const { return op_; }

 private:
  class Memory;

  IsolatedOp op_;
  std::vector<std::unique_ptr<Memory>> memory_;
};

// Numbers as a host tensor of `dtype`, rounded to the nearest.
SLUICE_API Tensor FromDoubles(platform::DType dtype,
                              const DDim& dims,
                              const std::vector<double>& values);

}  // namespace sluice::framework
