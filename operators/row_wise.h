#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string_view>
#include <variant>
#include <vector>

#include "sluice/framework/op/op_desc.h"

// Conditions of OpSchema::SharesRows, by an attribute of the op.
namespace sluice {

// Whether none of the dims that an attribute names, a number or a list, is dim
// 0 of X. False for an empty list, which means all dims, and while a negative
// one or the attribute itself is unknown.
inline bool SparesRows(const OpDesc& op,
                       const DDim& x,
                       std::string_view attribute) {
  const auto found = op.attributes.find(attribute);
  if (found == op.attributes.end()) return false;
  std::vector<int64_t> axes;
  if (const auto* axis = std::get_if<int64_t>(&found->second)) axes = {*axis};
  if (const auto* list = std::get_if<std::vector<int64_t>>(&found->second)) {
    axes = *list;
  }
  const int64_t rank = x.rank_known() ? x.rank() : 0;
  return !axes.empty() &&
         std::all_of(axes.begin(), axes.end(), [&](int64_t axis) {
           return axis > 0 || (axis < 0 && rank > 0 && axis != -rank);
         });
}

// Whether a bool attribute is false, or missing.
inline bool IsOff(const OpDesc& op, std::string_view attribute) {
  const auto found = op.attributes.find(attribute);
  return found == op.attributes.end() || found->second == Attribute(false);
}

// Condition: dim 0 is none of those that `axis` names.
inline bool AxisSparesRows(const OpDesc& op, const DDim& x) {
  return SparesRows(op, x, "axis") && IsOff(op, "flatten");
}
inline bool AxesSpareRows(const OpDesc& op, const DDim& x) {
  return SparesRows(op, x, "axes");
}

// Condition of reshape: dim 0 is copied, or all that the other sizes leave.
inline bool ShapeKeepsRows(const OpDesc& op, const DDim& x) {
  const auto found = op.attributes.find("shape");
  if (found == op.attributes.end()) return false;
  const auto& shape = std::get<std::vector<int64_t>>(found->second);
  if (shape.empty() || shape[0] == 0) return !shape.empty();
  if (shape[0] != -1 || !x.rank_known() || x.rank() < 1) return false;
  int64_t row = 1;
  int64_t left = 1;
  for (int axis = 1; axis < x.rank(); ++axis) {
    if (x[axis] < 0) return false;
    row *= x[axis];
  }
  for (size_t axis = 1; axis < shape.size(); ++axis) {
    const bool copied = shape[axis] == 0 && static_cast<int>(axis) < x.rank();
    left *= copied ? x[static_cast<int>(axis)] : shape[axis];
  }
  return row == left;
}

}  // namespace sluice
