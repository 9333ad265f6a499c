#pragma once

#include "sluice/framework/op/op_kernel.h"

namespace sluice {

// X as [outer, inner], and Out as [outer, depth, inner].
struct OneHot {
  static OneHot Of(const KernelQuery& query) {
    const DDim& x = query.inputs[0];
    const auto axis = query.Attr<int64_t>("axis");
    OneHot one;
    one.depth = query.Attr<int64_t>("depth");
    one.inner = x.Product(
        static_cast<int>(axis < 0 ? axis + x.rank() + 1 : axis), x.rank());
    return one;
  }

  int64_t depth = 0;
  int64_t inner = 1;
};

}  // namespace sluice
