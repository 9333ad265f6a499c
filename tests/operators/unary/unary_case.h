#pragma once

#include <string>
#include <vector>

#include "tests/operators/harness/op_case.h"

#include "sluice/operators/math/unary/unary_row.h"

namespace sluice::testing {

// The attributes of a row's examples: the defaults, and others if it has any.
std::vector<AttributeMap> UnaryAttributes(const UnaryInfo& info);

// The cases of the harness for every kernel of the row's op and its gradient.
OpCase UnaryCase(const UnaryInfo& info);
OpCase UnaryGradCase(const UnaryInfo& info);

}  // namespace sluice::testing
