#pragma once

#include <string>
#include <string_view>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/operators/math/unary/unary_row.h"

namespace sluice {

// Returns the values of a row's attributes from an op.
inline UnaryParams ReadUnaryParams(const UnaryInfo& info,
                                   const OpKernelConstruction& construction) {
  UnaryParams params = {};
  for (size_t i = 0; i < params.size(); ++i) {
    const UnaryAttr& attr = info.attributes[i];
    if (attr.name == nullptr) continue;
    params[i] = attr.is_bool ? (construction.Attr<bool>(attr.name) ? 1.0 : 0.0)
                             : construction.Attr<double>(attr.name);
  }
  return params;
}

}  // namespace sluice
