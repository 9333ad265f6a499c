#pragma once

#include <vector>

#include "sluice/operators/math/unary/unary_row.h"

// Declares what <table>_rows.cc defines, for UnaryRows() only.
namespace sluice {

void AddArithmeticRows(std::vector<UnaryRow>* rows);
void AddExponentialRows(std::vector<UnaryRow>* rows);
void AddActivationRows(std::vector<UnaryRow>* rows);
void AddTrigonometricRows(std::vector<UnaryRow>* rows);

}  // namespace sluice
