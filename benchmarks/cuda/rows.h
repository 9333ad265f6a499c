#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "benchmarks/cuda/op_spec.h"

namespace sluice::bench {

// The limit of a kernel, which determines the unit of its figure.
enum class Bound : uint8_t {
  kMemory,  // GB/s; limit: a device copy of that size
  kFlops,   // TFLOP/s; limit: the rate of additions
  kPairs,   // G pairs/s; limit: subtract, abs, add
};
std::string UnitOf(Bound bound);

// A kernel to measure.
struct OpRow {
  std::string id;  // "cuda/softmax_grad/1MB"
  OpSpec forward;
  std::string gradient{};  // the measured gradient op; "" for the op
  Bound bound = Bound::kMemory;
  double work = 0;   // bytes, floating-point operations, or pairs
  int64_t size = 0;  // kMemory: bytes of the main tensor
  // A smaller version of the op, which is compared with the CPU's kernel, and
  // which the emulation runs.
  OpSpec small{};
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

// Every op with a float32 kernel for CUDA, and its gradients with kernels.
// Products, convolutions and distances have their own sizes. The CUDA module
// must be loaded: get the device from the DeviceManager first.
Rows AllRows();

// The program of the measured op of the row; its forward op is `forward`.
OneOpProgram Measured(const OpRow& row, const OneOpProgram& forward);

}  // namespace sluice::bench
