#pragma once

#include <string_view>

namespace sluice::fuzz {

// Imports a model, and runs it once if it is small. Errors are no faults,
// except internal errors, those of other types, and lack of memory: these end
// the process with std::abort, and a line on stderr.
void TryModel(std::string_view bytes);

}  // namespace sluice::fuzz
