#pragma once

#include <vector>

#include "sluice/framework/hints/kernel_hints.h"

namespace sluice::framework {

class Registry;

// Raises NotFound for the first hint that names something that nobody has, with
// what is near it: an operator, a kind of device, a library, a variant (of the
// operator, where the hint is about one) or a layout. What is known includes
// the libraries and plug-ins that are not loaded yet: before it gives up, it
// loads them. A device that is not there (cuda:7) is no misspelling.
SLUICE_API void CheckHintNames(const std::vector<KernelHint>& hints,
                               const Registry& registry);
// The same for the hints of one op, which errors name with its line.
void CheckHintNamesOf(const OpDesc& op,
                      int op_index,
                      const std::vector<KernelHint>& hints,
                      const Registry& registry);

}  // namespace sluice::framework
