#include "sluice/operators/binary/binary_kernel.cuh"

namespace sluice::operators::math {
namespace {
#include "sluice/operators/math/binary/arithmetic_rows.inc"
}  // namespace
}  // namespace sluice::operators::math

namespace sluice::operators {
namespace {

void AddArithmeticRows(framework::Registry& registry) {
  AddArithmeticCUDARows(math::BinaryArithmetic(), registry);
}

}  // namespace

REGISTER_TABLE(cuda_binary_arithmetic, AddArithmeticRows);

}  // namespace sluice::operators
