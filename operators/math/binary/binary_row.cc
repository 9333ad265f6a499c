#include "sluice/operators/math/binary/binary_row.h"

#include <vector>

#include "sluice/operators/math/binary/binary_tables.h"

namespace sluice {

std::span<const BinaryRow> BinaryRows() {
  static const std::vector<BinaryRow> kRows = [] {
    std::vector<BinaryRow> all;
    AddArithmeticRows(&all);
    AddComparisonRows(&all);
    AddBitRows(&all);
    return all;
  }();
  return kRows;
}

const BinaryRow* FindBinaryRow(std::string_view name) {
  for (const BinaryRow& row : BinaryRows()) {
    if (name == row.info.name) return &row;
  }
  return nullptr;
}

}  // namespace sluice
