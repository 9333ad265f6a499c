#pragma once

#include <vector>

#include "sluice/framework/hints/kernel_hints.h"

namespace sluice {

class Registry;

// Raises NotFound for the first hint with an unknown name, and suggests similar
// ones. It checks operators, kinds of devices, libraries, variants (of the
// operator, if the hint is about one) and layouts. Before it raises, it loads
// the libraries and plug-ins that are not loaded yet. A device that does not
// exist (cuda:7) is no misspelling.
SLUICE_API void CheckHintNames(const std::vector<KernelHint>& hints,
                               const Registry& registry);
// Checks the hints of one op; errors name the op and its line.
void CheckHintNamesOf(const OpDesc& op,
                      int op_index,
                      const std::vector<KernelHint>& hints,
                      const Registry& registry);

}  // namespace sluice
