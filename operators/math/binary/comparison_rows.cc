#include "sluice/operators/math/binary/binary_tables.h"
#include "sluice/operators/math/binary/plain_loops.h"

namespace sluice {
namespace {
#include "sluice/operators/math/binary/comparison_rows.inc"
}  // namespace

void AddComparisonRows(std::vector<BinaryRow>* rows) {
  AddPlainRows(BinaryComparison(), rows);
}

}  // namespace sluice
