#include "sluice/operators/unary/unary_kernel.cuh"

namespace sluice {
namespace {
#include "sluice/operators/math/unary/trigonometric_rows.inc"
}  // namespace
namespace {

void AddTrigonometricRows(Registry& registry) {
  AddUnaryCUDARows(Table(), registry);
}

}  // namespace

REGISTER_TABLE(cuda_unary_trigonometric, AddTrigonometricRows);

}  // namespace sluice
