#include "sluice/operators/math/unary/unary_row.h"

#include <vector>

#include "sluice/operators/math/unary/unary_tables.h"

namespace sluice {

std::span<const UnaryRow> UnaryRows() {
  static const std::vector<UnaryRow> kRows = [] {
    std::vector<UnaryRow> all;
    AddArithmeticRows(&all);
    AddExponentialRows(&all);
    AddActivationRows(&all);
    AddTrigonometricRows(&all);
    return all;
  }();
  return kRows;
}

const UnaryRow* FindUnaryRow(std::string_view name) {
  for (const UnaryRow& row : UnaryRows()) {
    if (name == row.info.name) return &row;
  }
  return nullptr;
}

}  // namespace sluice
