#pragma once

#include <cstdint>

#include "sluice/framework/op/op_kernel.h"

namespace sluice {

// A search in each line of a dense tensor [outer, size, inner]; lines extend
// along `size`.
struct ArgBestPlan {
  int64_t outer = 1, size = 1, inner = 1;
  bool largest = true;
  bool last = false;  // the last of equal elements
};

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
