#include "sluice/operators/binary/binary_kernel.cuh"

namespace sluice {
namespace {
#include "sluice/operators/math/binary/comparison_rows.inc"
}  // namespace
namespace {

void AddComparisonRows(Registry& registry) {
  AddPlainCUDARows(BinaryComparison(), registry);
}

}  // namespace

REGISTER_TABLE(cuda_binary_comparison, AddComparisonRows);

}  // namespace sluice
