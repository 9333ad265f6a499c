#pragma once

#include <string>
#include <string_view>

namespace sluice::internal {

// Returns e.g. "AddKernel<float>", given the __PRETTY_FUNCTION__ of a function
// template whose argument `Kernel` is that kernel.
std::string KernelNameIn(std::string_view pretty_function);

}  // namespace sluice::internal
