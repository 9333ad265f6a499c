#include "sluice/operators/math/unary/predicate_row.h"

#include <array>
#include <cmath>

#include "sluice/operators/math/plain_formulas.h"

namespace sluice {
namespace {
#include "sluice/operators/math/unary/predicate_rows.inc"

template <class... Row>
std::span<const PredicateInfo> InfosOf(Rows<Row...> /*table*/) {
  static constexpr std::array kInfos = {Row::kInfo...};
  return kInfos;
}

}  // namespace

std::span<const PredicateInfo> Predicates() {
  return InfosOf(PredicateTable());
}

}  // namespace sluice
