#pragma once

#include <string_view>

namespace sluice::fuzz {

// Imports a model; what is imported, and small, runs once. Errors are no
// faults, but for internal ones, those of other types, and where memory ran
// out: then the process ends by std::abort, with a line on stderr.
void TryModel(std::string_view bytes);

}  // namespace sluice::fuzz
