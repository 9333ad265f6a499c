#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/hints/kernel_hints.h"
#include "sluice/platform/export.h"

namespace sluice {

class Registry;
struct KernelDef;

// "plain", "onednn/direct": library and variant, without Sluice's own library.
SLUICE_API std::string KernelName(const KernelDef& kernel);
// "conv2d+bn+relu": the name of the call that computes these ops, of the first
// op's name and the short names of the others.
SLUICE_API std::string CallName(const std::vector<std::string>& ops);
// Whether both are the same but for capital letters.
bool SameName(std::string_view a, std::string_view b);
// Whether a text is a kernel's variant, its name, or its library, unless that
// is Sluice's own.
bool NamesKernel(std::string_view text, const KernelDef& kernel);

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
