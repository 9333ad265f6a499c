#include "sluice/operators/binary/binary_kernel.cuh"

namespace sluice {
namespace {
#include "sluice/operators/math/binary/arithmetic_rows.inc"
}  // namespace
namespace {

void AddArithmeticRows(Registry& registry) {
  AddArithmeticCUDARows(BinaryArithmetic(), registry);
}

}  // namespace

REGISTER_TABLE(cuda_binary_arithmetic, AddArithmeticRows);

}  // namespace sluice
