#pragma once

#include <string>

#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

namespace sluice {

// The program for a reader, in lines of at most 100 columns. Left out are
// attributes that are their defaults, what gradients and updates read, and all
// but the first of like updates. ToString has all.
SLUICE_API std::string BriefText(const Program& program);

}  // namespace sluice
