#pragma once

#include <string_view>
#include <vector>

#include "sluice/platform/export.h"

namespace sluice::framework {

struct Candidate;

// What decides between kernels, and whether it is measured without being asked.
enum class TuningMode : unsigned char {
  // Records where there are some, else estimates. Nothing is measured.
  kEstimate,
  // The same, but an Executor tunes a plan that lacks records when it first
  // runs it, and then runs the new plan.
  kMeasure,
  // Records only, for an op of which some kernel has one; the first registered
  // kernel elsewhere. Nothing is measured.
  kRecorded,
};

// "estimate", "measure" or "recorded". Raises InvalidArgument, with near names,
// for anything else.
SLUICE_API TuningMode ParseTuningMode(std::string_view text);

// Seconds, more than 0. Raises InvalidArgument for anything else.
SLUICE_API double ParseTuningSeconds(std::string_view text);

// SLUICE_TUNE and SLUICE_TUNE_SECONDS of this process, read once; kEstimate and
// 2 where they are not set. Raise as above.
SLUICE_API TuningMode TuningModeOfEnvironment();
SLUICE_API double TuningSecondsOfEnvironment();

// As kRecorded: refuses candidates without a record where another has one, and
// makes all equal where none has.
SLUICE_API void DecideByRecordsOnly(std::vector<Candidate>* candidates);

}  // namespace sluice::framework
