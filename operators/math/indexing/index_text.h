#pragma once

#include <cstdint>
#include <string>

#include "sluice/framework/values/ddim.h"
#include "sluice/platform/error.h"

// Texts for errors about indices that are out of range.
namespace sluice {

// Returns the range of valid indices of a dim.
inline std::string IndexRange(int64_t size) {
  if (size == 0) return "a dim that has no elements";
  return Format("[-{}, {})", size, size);
}

// Returns the coordinates of element `position` of a tensor, "3" or "1, 0".
inline std::string Coordinates(int64_t position, DDim dims) {
  if (dims.rank() <= 1) return std::to_string(position);
  for (int axis = dims.rank() - 1; axis >= 0; --axis) {
    const int64_t size = dims[axis];
    dims[axis] = position % size;
    position /= size;
  }
  const std::string text = ToString(dims);
  return text.substr(1, text.size() - 2);
}

}  // namespace sluice
