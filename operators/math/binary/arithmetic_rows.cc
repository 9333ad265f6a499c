#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/binary/binary_loops-inl.h"
#include "sluice/operators/math/binary/binary_tables.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
#include "sluice/operators/math/binary/arithmetic_rows.inc"

void AddBinaryArithmeticTable(std::vector<BinaryRow>* rows) {
  AddBinaryRows(BinaryArithmetic(), rows);
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {
HWY_EXPORT(AddBinaryArithmeticTable);
}  // namespace

void AddArithmeticRows(std::vector<BinaryRow>* rows) {
  const size_t first = rows->size();
  HWY_DYNAMIC_DISPATCH(AddBinaryArithmeticTable)(rows);
  AddArithmeticMoreDTypes(rows->data() + first);
}

}  // namespace sluice
#endif  // HWY_ONCE
