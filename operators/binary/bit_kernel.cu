#include <algorithm>
#include <cmath>

#include "sluice/operators/binary/binary_kernel.cuh"

namespace sluice {
namespace {
#include "sluice/operators/math/binary/bit_rows.inc"
}  // namespace
namespace {

void AddBitRows(Registry& registry) {
  AddPlainCUDARows(BinaryBit(), registry);
}

}  // namespace

REGISTER_TABLE(cuda_binary_bit, AddBitRows);

}  // namespace sluice
