#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/framework/program/program.h"

namespace sluice {

// Returns a line that says how to run the slowest op of a plan by its next best
// kernel, and what the whole run would then take. The plan is prepared with the
// hint, because another kernel may change what is fused and which layout ops
// have. `hint_form` is how a hint is given, with {} for it. Empty where no hint
// gives another kernel.
std::vector<std::string> OtherKernels(const Program& program,
                                      const Plan& plan,
                                      std::string_view hint_form);

}  // namespace sluice
