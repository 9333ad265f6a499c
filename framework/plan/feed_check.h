#pragma once

#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/framework/program/program.h"
#include "sluice/platform/error.h"

namespace sluice {

// Raises for invalid feeds of `program`, with the line that created the
// variable: NotFound for an unknown name, and InvalidArgument for a variable
// that is not fed, a duplicate name, another dtype or shape.
void CheckFeeds(const Program& program, const std::vector<FeedSpec>& feeds);

// Adds to a shape error which feeds differ in their first dimension, if the
// program leaves it open: most likely their batch sizes should be equal.
void NoteRowsOfFeeds(const Program& program,
                     const std::vector<FeedSpec>& feeds,
                     Error* error);

}  // namespace sluice
