#pragma once

#include <string_view>

#include "sluice/platform/export.h"

namespace sluice {

// The version of this Sluice, e.g. "0.1.0".
SLUICE_API std::string_view SluiceVersion();

}  // namespace sluice
