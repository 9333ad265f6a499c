#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "benchmarks/cuda/op_program.h"

namespace sluice::bench {

// A kernel to measure.
struct OpRow {
  std::string id;  // "cuda/softmax_grad/1MB"
  OpExample forward;
  std::string gradient{};  // the measured gradient op; "" for the op
  // "GB/s", whose limit is a device copy of that size; "TFLOP/s", the rate of
  // additions; or "G pairs/s", that of subtract, abs, add.
  std::string unit{};
  double work = 0;   // bytes, floating-point operations, or pairs
  int64_t size = 0;  // GB/s: bytes of the main tensor
  // A smaller version of the op, which is compared with the CPU's kernel, and
  // which the emulation runs.
  OpExample small{};
  bool check_small = true;  // false if another row does
  std::string note{};
};

// The sizes in ids: 4 KB, 1 MB and 256 MB.
struct NamedSize {
  std::string name;
  int64_t bytes;
};
const std::vector<NamedSize>& Sizes();

struct Rows {
  std::vector<OpRow> rows;
  std::map<std::string, std::string> left_out;  // reason by op
};

// Every op with a float32 kernel for CUDA, and its gradients with kernels. An
// op is called as rows.json describes it, which has examples (OpExample) with
// names of the members of a size in place of dims and numbers; an op that it
// does not know gets tensors of one shape, if its schema accepts that. The CUDA
// module must be loaded: get the device from the DeviceManager first.
Rows AllRows();

// The measured op of the row; its forward op is `forward`.
OneOp DescribeMeasured(const OpRow& row, const OneOp& forward);

}  // namespace sluice::bench
