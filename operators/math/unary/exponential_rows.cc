#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/unary/unary_loops-inl.h"
#include "sluice/operators/math/unary/unary_tables.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
#include "sluice/operators/math/unary/exponential_rows.inc"

void AddExponentialTable(std::vector<UnaryRow>* rows) {
  AddRows(Table(), rows);
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {
HWY_EXPORT(AddExponentialTable);
}  // namespace

void AddExponentialRows(std::vector<UnaryRow>* rows) {
  HWY_DYNAMIC_DISPATCH(AddExponentialTable)(rows);
}

}  // namespace sluice
#endif  // HWY_ONCE
