#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/platform/export.h"

namespace sluice {

// Why a kernel was chosen: the closed vocabulary of Explain.
enum class Reason : uint8_t {
  kOnlyKernel,        // one fits the dtype, the place and the shapes
  kFastestEstimate,   // others fit, and are estimated to take 10 % longer
  kFastestMeasured,   // by records of this machine
  kFastestNearby,     // by records of other sizes
  kNearTie,           // less than 10 % apart, or intervals that overlap
  kTie,               // the same time; it was registered first
  kPreparedSooner,    // others take longer to prepare for each size
  kKeepsLess,         // faster ones keep more memory than they are worth
  kOthersUnmeasured,  // and come last until they are
  kHintRequires,
  kHintPrefers,
  kOthersExcluded,  // by a hint
  kOthersWrong,     // records say that they gave wrong results
  kKeptAtPlace,     // kernels at other places fit, too
  kFellBack,        // to the CPU: no kernel at the expected place fits
  kRunsBlocks,      // an op that runs blocks has one kernel
  kChosenForSize,   // for feeds of a nearby size; another one is faster here
};

struct Why {
  Reason reason = Reason::kOnlyKernel;
  std::string subject;  // of the hint, "place=cpu"; or a place, "cuda:0"
};

// At most five words: "fastest estimate", "hint requires place=cpu".
SLUICE_API std::string ToString(const Why& why);
// Whether a hint made the choice, not a time.
SLUICE_API bool IsByHint(Reason reason);
// "fastest_estimate": the name in JSON.
SLUICE_API std::string_view NameOf(Reason reason);

}  // namespace sluice
