#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "benchmarks/cuda/op_spec.h"

namespace sluice::bench {

// What holds a kernel back, and so the unit of its figure.
enum class Bound : uint8_t {
  kMemory,  // GB/s, beside a copy on the device of the same size
  kFlops,   // TFLOP/s, beside the rate of additions
  kPairs,   // G pairs/s, beside the rate of subtract, absolute, add
};
std::string UnitOf(Bound bound);

// One kernel to measure.
struct OpRow {
  std::string id;  // "cuda/softmax_grad/1MB"
  OpSpec forward;
  std::string gradient{};  // the gradient op that is measured; "" for the op
  Bound bound = Bound::kMemory;
  double work = 0;   // bytes, floating-point operations, or pairs
  int64_t size = 0;  // kMemory: bytes of the main tensor
  // The same op on less: what is held against the CPU's kernel, and what the
  // emulation runs.
  OpSpec small{};
  bool check_small = true;  // or another row does
  std::string note{};
};

// 4 KB, 1 MB and 256 MB, as ids name them.
struct NamedSize {
  std::string name;
  int64_t bytes;
};
const std::vector<NamedSize>& Sizes();

struct Rows {
  std::vector<OpRow> rows;
  std::map<std::string, std::string> left_out;  // reason by op
};

// Every op with a float32 kernel for CUDA, and its gradients where they have
// one; products, convolutions and distances with sizes of their own. Kernels of
// the CUDA module must be loaded: ask the DeviceManager for the device first.
Rows AllRows();

// The program of what the row measures, its forward op being `forward`.
OneOpProgram Measured(const OpRow& row, const OneOpProgram& forward);

}  // namespace sluice::bench
