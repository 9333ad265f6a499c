#pragma once

#include <string>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/operators/math/softmax.h"

// Shared by the kernels of softmax_with_cross_entropy and its gradients.
namespace sluice {

// Returns the tensor `dims` as [outer, size, inner] around `axis`.
inline SoftmaxDims SoftmaxDimsOf(const DDim& dims, int64_t axis) {
  SoftmaxDims of;
  const auto at = static_cast<int>(axis < 0 ? axis + dims.rank() : axis);
  for (int i = 0; i < dims.rank(); ++i) {
    (i < at ? of.outer : i == at ? of.size : of.inner) *= dims[i];
  }
  return of;
}

// The predicate of kernels that take rows only. All inputs have one rank.
inline std::string HasClassesLast(const KernelQuery& query) {
  const auto axis = query.Attr<int64_t>("axis");
  if (axis == -1 || axis == query.inputs[0].rank() - 1) return "";
  return Format("needs the classes in the last dim, got axis = {}", axis);
}

}  // namespace sluice
