#pragma once

#include "sluice/framework/op/op_kernel.h"
#include "sluice/operators/math/search/arg_best.h"

namespace sluice {

// Returns the plan of an arg_max or arg_min; input 0 is X.
inline ArgBestPlan ArgBestPlanOf(const KernelQuery& query) {
  const DDim& x = query.inputs[0];
  ArgBestPlan plan;
  plan.largest = query.op.type == "arg_max";
  plan.last = query.Attr<bool>("select_last_index");
  if (query.Attr<bool>("flatten")) {
    plan.size = x.numel();
    return plan;
  }
  const auto axis = query.Attr<int64_t>("axis");
  const auto at = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
  plan.outer = x.Product(0, at);
  plan.size = x[at];
  plan.inner = x.Product(at + 1, x.rank());
  return plan;
}

}  // namespace sluice
