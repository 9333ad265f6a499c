#pragma once

#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/framework/program/program.h"
#include "sluice/platform/error.h"

namespace sluice::framework {

// Raises for feeds that `program` does not take, with the line that made the
// variable: NotFound for an unknown name, and InvalidArgument for a variable
// that is not fed, a name that is there twice, another dtype or shape.
void CheckFeeds(const Program& program, const std::vector<FeedSpec>& feeds);

// Adds to an error about shapes which feeds differ in their first size, where
// that is open in the program: most likely rows that belong together.
void NoteRowsOfFeeds(const Program& program,
                     const std::vector<FeedSpec>& feeds,
                     platform::Error* error);

}  // namespace sluice::framework
