#pragma once

#include <vector>

#include "sluice/operators/math/binary/binary_row.h"

// What <table>_rows.cc makes of <table>_rows.inc, for BinaryRows() only.
namespace sluice::operators::math {

void AddArithmeticRows(std::vector<BinaryRow>* rows);
void AddComparisonRows(std::vector<BinaryRow>* rows);
void AddBitRows(std::vector<BinaryRow>* rows);

}  // namespace sluice::operators::math
