#include "sluice/operators/math/reduction/reduction_row.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <type_traits>

#include "sluice/operators/math/plain_formulas.h"

namespace sluice {
namespace {
#include "sluice/operators/math/reduction/reduction_rows.inc"

template <class... Row>
std::span<const ReductionInfo> InfosOf(Rows<Row...> /*table*/) {
  static constexpr std::array kInfos = {ReduceSumRow::kInfo,
                                        ReduceMeanRow::kInfo, Row::kInfo...};
  return kInfos;
}

}  // namespace

std::span<const ReductionInfo> Reductions() {
  return InfosOf(ReductionTable());
}

}  // namespace sluice
