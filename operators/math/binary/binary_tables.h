#pragma once

#include <vector>

#include "sluice/operators/math/binary/binary_row.h"

// What the sources make of <table>_rows.inc, for BinaryRows() only.
namespace sluice::operators::math {

void AddArithmeticRows(std::vector<BinaryRow>* rows);
// The loops of these rows for float64 and integers, of which `first` is the
// first.
void AddArithmeticMoreDTypes(BinaryRow* first);
void AddComparisonRows(std::vector<BinaryRow>* rows);
void AddBitRows(std::vector<BinaryRow>* rows);

}  // namespace sluice::operators::math
