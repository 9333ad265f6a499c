#include "sluice/laboratory/records/tuning_mode.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "sluice/framework/choice/candidates.h"
#include "sluice/framework/op/near_names.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

std::string_view OrEmpty(const char* value) {
  return value == nullptr ? "" : value;
}

bool Measured(const Candidate& candidate) {
  return candidate.refusal.empty() && candidate.evidence == Evidence::kRecord;
}

}  // namespace

TuningMode ParseTuningMode(std::string_view text) {
  if (text == "estimate") return TuningMode::kEstimate;
  if (text == "measure") return TuningMode::kMeasure;
  if (text == "recorded") return TuningMode::kRecorded;
  Raise(ErrorCode::kInvalidArgument, "tuning_mode.name",
        "SLUICE_TUNE is '{}', expected the name of a tuning mode{}", text,
        SuggestNames(text, {"estimate", "measure", "recorded"}));
}

double ParseTuningSeconds(std::string_view text) {
  double seconds = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, seconds);
  SLUICE_ENFORCE(error == std::errc() && rest == end && seconds > 0 &&
                     std::isfinite(seconds),
                 ErrorCode::kInvalidArgument, "tuning_mode.seconds",
                 "SLUICE_TUNE_SECONDS is '{}', expected a number of seconds "
                 "above 0, such as 0.5",
                 text);
  return seconds;
}

TuningMode TuningModeOfEnvironment() {
  static const TuningMode kMode = [] {
    const std::string_view text = OrEmpty(std::getenv("SLUICE_TUNE"));
    return text.empty() ? TuningMode::kEstimate : ParseTuningMode(text);
  }();
  return kMode;
}

double TuningSecondsOfEnvironment() {
  static const double kSeconds = [] {
    const std::string_view text = OrEmpty(std::getenv("SLUICE_TUNE_SECONDS"));
    return text.empty() ? 2.0 : ParseTuningSeconds(text);
  }();
  return kSeconds;
}

void DecideByRecordsOnly(std::vector<Candidate>* candidates) {
  const bool any =
      std::any_of(candidates->begin(), candidates->end(), Measured);
  for (Candidate& candidate : *candidates) {
    if (!candidate.refusal.empty() || Measured(candidate)) continue;
    if (any) {
      candidate.refusal =
          "no record for this signature, and SLUICE_TUNE=recorded";
    } else {
      candidate.seconds = 0;
    }
  }
}

}  // namespace sluice
