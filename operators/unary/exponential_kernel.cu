#include "sluice/operators/unary/unary_kernel.cuh"

namespace sluice::operators::math {
namespace {
#include "sluice/operators/math/unary/exponential_rows.inc"
}  // namespace
}  // namespace sluice::operators::math

namespace sluice::operators {
namespace {

void AddExponentialRows(framework::Registry& registry) {
  AddUnaryCUDARows(math::Table(), registry);
}

}  // namespace

REGISTER_TABLE(cuda_unary_exponential, AddExponentialRows);

}  // namespace sluice::operators
