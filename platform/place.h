#pragma once

// The only header that includes Boost, which costs half a second a translation
// unit. Include place_key.h instead unless a visitor over places is needed.
#include <boost/variant.hpp>

#include "sluice/platform/export.h"
#include "sluice/platform/place_key.h"

namespace sluice {

// The location of a tensor's memory. A default Place is the CPU.
using Place = boost::variant<CPUPlace, CUDAPlace, FPGAPlace, CustomPlace>;

SLUICE_API PlaceKey ToPlaceKey(const Place& place);
SLUICE_API Place ToPlace(PlaceKey key);

}  // namespace sluice
