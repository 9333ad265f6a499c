#pragma once

#include <cstdint>

#include "sluice/framework/op/op_kernel.h"

namespace sluice {

struct ScanPlan {
  int64_t outer = 1, size = 1, inner = 1;
  bool exclusive = false;  // excludes the element; begins with 0 or 1
  bool reverse = false;    // begins with the last element
};

// Returns the plan of a cumsum, cumprod or a gradient of these; input 0 is X.
inline ScanPlan ScanPlanOf(const KernelQuery& query) {
  const DDim& x = query.inputs[0];
  ScanPlan plan;
  plan.exclusive = query.Attr<bool>("exclusive");
  plan.reverse = query.Attr<bool>("reverse");
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
