#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/platform/export.h"

namespace sluice::framework {

// The end of a NotFound message: "; did you mean crop or crop_grad?" for the
// names within a third of `name`'s length (but at least one, and less than all
// of it) by edit distance (a swap of two letters is one), else "; there are a,
// b, c" for a short list, else "".
SLUICE_API std::string SuggestNames(std::string_view name,
                                    const std::vector<std::string>& names);

// The message that none of `ops` is called `op`: near names, and how the
// operators of a library are added.
SLUICE_API std::string NoOperator(std::string_view op,
                                  const std::vector<std::string>& ops);

}  // namespace sluice::framework
