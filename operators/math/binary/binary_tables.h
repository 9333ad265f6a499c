#pragma once

#include <vector>

#include "sluice/operators/math/binary/binary_row.h"

// Declares what the sources of <table>_rows.inc define, for BinaryRows() only.
namespace sluice {

void AddArithmeticRows(std::vector<BinaryRow>* rows);
// Adds the loops for float64 and integers to consecutive rows, from `first` on.
void AddArithmeticMoreDTypes(BinaryRow* first);
void AddComparisonRows(std::vector<BinaryRow>* rows);
void AddBitRows(std::vector<BinaryRow>* rows);

}  // namespace sluice
