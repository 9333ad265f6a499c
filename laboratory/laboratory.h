#pragma once

#include "sluice/platform/export.h"

namespace sluice {

// From now on this process also chooses kernels by its records
// (RecordStore::Default()), and measures before it runs if SLUICE_TUNE is
// "measure". Later calls do nothing. Functions that read or write records call
// it, and so does libsluice.so when it loads the laboratory
// (framework/costs/cost_model.h). Raises InvalidArgument for an invalid
// SLUICE_RECORDS or SLUICE_TUNE.
SLUICE_API void UseLaboratory();

}  // namespace sluice
