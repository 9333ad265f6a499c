#include "sluice/operators/binary/binary_kernel.cuh"

namespace sluice::operators::math {
namespace {
#include "sluice/operators/math/binary/comparison_rows.inc"
}  // namespace
}  // namespace sluice::operators::math

namespace sluice::operators {
namespace {

void AddComparisonRows(framework::Registry& registry) {
  AddPlainCUDARows(math::BinaryComparison(), registry);
}

}  // namespace

REGISTER_TABLE(cuda_binary_comparison, AddComparisonRows);

}  // namespace sluice::operators
