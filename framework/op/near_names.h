#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/platform/export.h"

namespace sluice {

// Returns the end of a NotFound message. "; did you mean crop or crop_grad?"
// lists the nearest names, at most four, within an edit distance of a third of
// `name`'s length (at least one, and less than all of it; a swap of two letters
// is one edit). Else
// it is "; there are a, b, c" for a short list, or "".
SLUICE_API std::string SuggestNames(std::string_view name,
                                    const std::vector<std::string>& names);

// Returns a name in small letters.
SLUICE_API std::string Lower(std::string_view name);

// Returns the message that no op is called `op`: similar names, and how to add
// the operators of a library.
SLUICE_API std::string NoOperator(std::string_view op,
                                  const std::vector<std::string>& ops);

}  // namespace sluice
