#include "sluice/operators/unary/unary_kernel.cuh"

namespace sluice {
namespace {
#include "sluice/operators/math/unary/activation_rows.inc"
}  // namespace
namespace {

void AddActivationRows(Registry& registry) {
  AddUnaryCUDARows(Table(), registry);
}

}  // namespace

REGISTER_TABLE(cuda_unary_activation, AddActivationRows);

}  // namespace sluice
