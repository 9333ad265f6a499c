#include "sluice/operators/unary/unary_kernel.cuh"

namespace sluice {
namespace {
#include "sluice/operators/math/unary/exponential_rows.inc"
}  // namespace
namespace {

void AddExponentialRows(Registry& registry) {
  AddUnaryCUDARows(Table(), registry);
}

}  // namespace

REGISTER_TABLE(cuda_unary_exponential, AddExponentialRows);

}  // namespace sluice
