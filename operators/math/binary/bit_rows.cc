#include <algorithm>
#include <cmath>

#include "sluice/operators/math/binary/binary_tables.h"
#include "sluice/operators/math/binary/plain_loops.h"

namespace sluice {
namespace {
#include "sluice/operators/math/binary/bit_rows.inc"
}  // namespace

void AddBitRows(std::vector<BinaryRow>* rows) {
  AddPlainRows(BinaryBit(), rows);
}

}  // namespace sluice
