// Compiles the rows of arithmetic_rows.inc for float64 and integers. This
// source is separate because it takes as long to compile as float32.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/binary/binary_loops-inl.h"
#include "sluice/operators/math/binary/binary_tables.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
#include "sluice/operators/math/binary/arithmetic_rows.inc"

void AddBinaryArithmeticMoreDTypes(BinaryRow* first) {
  AddMoreDTypesOfRows(BinaryArithmetic(), first);
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {
HWY_EXPORT(AddBinaryArithmeticMoreDTypes);
}  // namespace

void AddArithmeticMoreDTypes(BinaryRow* first) {
  HWY_DYNAMIC_DISPATCH(AddBinaryArithmeticMoreDTypes)(first);
}

}  // namespace sluice
#endif  // HWY_ONCE
