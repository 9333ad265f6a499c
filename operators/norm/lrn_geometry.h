#pragma once

#include <string>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/operators/math/norm/lrn.h"

namespace sluice {

// Returns the geometry for a kernel of lrn or lrn_grad; input 0 is X.
inline LrnGeometry LrnGeometryOf(const KernelQuery& query) {
  const DDim& x = query.inputs[0];
  const bool last = query.Attr<std::string>("data_format") == "NHWC";
  const int rank = x.rank();
  const int channel = last ? rank - 1 : 1;
  const auto n = query.Attr<int64_t>("n");
  LrnGeometry g(x.Product(0, channel), x[channel], x.Product(channel + 1, rank),
                n);
  g.k = query.Attr<double>("k");
  g.scale = query.Attr<double>("alpha") / static_cast<double>(n);
  g.beta = query.Attr<double>("beta");
  return g;
}

}  // namespace sluice
