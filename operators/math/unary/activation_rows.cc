#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/unary/unary_loops-inl.h"
#include "sluice/operators/math/unary/unary_tables.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
#include "sluice/operators/math/unary/activation_rows.inc"

void AddActivationTable(std::vector<UnaryRow>* rows) {
  AddRows(Table(), rows);
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {
HWY_EXPORT(AddActivationTable);
}  // namespace

void AddActivationRows(std::vector<UnaryRow>* rows) {
  HWY_DYNAMIC_DISPATCH(AddActivationTable)(rows);
}

}  // namespace sluice
#endif  // HWY_ONCE
