#pragma once

#include <array>

#include "sluice/framework/values/ddim.h"
#include "sluice/platform/export.h"

namespace sluice {

// Broadcasts three shapes, aligned at the last dimensions, as in NumPy. Returns
// the index of the first operand that does not fit those before it, or -1.
SLUICE_API int WhereShape(const std::array<DDim, 3>& operands, DDim* result);

}  // namespace sluice
