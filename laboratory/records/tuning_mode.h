#pragma once

#include <string_view>
#include <vector>

#include "sluice/platform/export.h"

namespace sluice {

struct Candidate;

// Selects how kernels are chosen, and whether runs measure by themselves.
enum class TuningMode : unsigned char {
  // Uses records if there are any, else estimates. Nothing is measured.
  kEstimate,
  // Like kEstimate, but an Executor tunes a plan that lacks records before its
  // first run, and then runs the new plan.
  kMeasure,
  // Uses records only, for an op with a record of some kernel; otherwise the
  // first registered kernel. Nothing is measured.
  kRecorded,
};

// Parses "estimate", "measure" or "recorded". Raises InvalidArgument, with
// similar names, for anything else.
SLUICE_API TuningMode ParseTuningMode(std::string_view text);

// Parses seconds. Raises InvalidArgument for anything but a number above 0.
SLUICE_API double ParseTuningSeconds(std::string_view text);

// SLUICE_TUNE and SLUICE_TUNE_SECONDS of this process, read once; kEstimate and
// 2 if unset. They raise what the parsers raise.
SLUICE_API TuningMode TuningModeOfEnvironment();
SLUICE_API double TuningSecondsOfEnvironment();

// Implements kRecorded: refuses candidates without a record if another has one,
// and makes all equal if none has.
SLUICE_API void DecideByRecordsOnly(std::vector<Candidate>* candidates);

}  // namespace sluice
