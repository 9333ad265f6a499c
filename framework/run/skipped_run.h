#pragma once

#include <string_view>

#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// For whoever runs programs: a run has failed before it began, as for a feed of
// another shape. Where the user catches that on one rank and goes on, its next
// run is not the one that the others are in: so it is noted with the World.
// Does nothing for a program without collective ops.
SLUICE_API void NoteSkippedRun(const Program& program,
                               std::string_view why) noexcept;

}  // namespace sluice::framework
