#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sluice/laboratory/op_example.h"
#include "sluice/laboratory/tuning/kernel_run.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// An example as an op with tensors. Each input has its own memory, surrounded
// by NaNs (or -1). A protected page begins less than 64 bytes after its end, so
// that a kernel that reads further ends the process. Used by one thread.
class SLUICE_API ExampleOp {
 public:
  // Makes the op for kernels of `dtype`, with all outputs unless
  // `required_only`. The forward op computes the inputs of its gradient op.
  // Raises what the op's schema raises, and ResourceExhausted.
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

// Returns a host tensor of `dtype` with the numbers rounded to nearest.
SLUICE_API Tensor FromDoubles(platform::DType dtype,
                              const DDim& dims,
                              const std::vector<double>& values);

}  // namespace sluice::framework
