#include "sluice/operators/unary/unary_kernel.cuh"

namespace sluice {
namespace {
#include "sluice/operators/math/unary/arithmetic_rows.inc"
}  // namespace
namespace {

void AddArithmeticRows(Registry& registry) {
  AddUnaryCUDARows(Table(), registry);
}

}  // namespace

REGISTER_TABLE(cuda_unary_arithmetic, AddArithmeticRows);

}  // namespace sluice
