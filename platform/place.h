#pragma once

// The only header that includes Boost: it costs half a second a translation
// unit. Everything but a visitor over places wants place_key.h instead.
#include <boost/variant.hpp>

#include "sluice/platform/export.h"
#include "sluice/platform/place_key.h"

namespace sluice::platform {

// Where a tensor's memory lives. A default Place is the CPU.
using Place = boost::variant<CPUPlace, CUDAPlace, FPGAPlace, CustomPlace>;

SLUICE_API PlaceKey ToPlaceKey(const Place& place);
SLUICE_API Place ToPlace(PlaceKey key);

}  // namespace sluice::platform
