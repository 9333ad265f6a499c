#include <algorithm>
#include <cmath>

#include "sluice/operators/binary/binary_kernel.cuh"

namespace sluice::operators::math {
namespace {
#include "sluice/operators/math/binary/bit_rows.inc"
}  // namespace
}  // namespace sluice::operators::math

namespace sluice::operators {
namespace {

void AddBitRows(framework::Registry& registry) {
  AddPlainCUDARows(math::BinaryBit(), registry);
}

}  // namespace

REGISTER_TABLE(cuda_binary_bit, AddBitRows);

}  // namespace sluice::operators
