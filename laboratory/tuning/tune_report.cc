#include <algorithm>
#include <limits>
#include <numeric>

#include "sluice/framework/choice/candidates.h"
#include "sluice/laboratory/measure/time_text.h"
#include "sluice/laboratory/tuning/tune.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

std::string Count(int count, std::string_view noun) {
  return Format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// Seconds of one call of the plan's kernel before tuning, and after; 0 if not
// measured.
double Before(const TunedSignature& tuned) {
  return tuned.before < 0 ? 0 : tuned.kernels[tuned.before].timing.median;
}
double After(const TunedSignature& tuned) {
  return tuned.winner < 0 ? 0 : tuned.kernels[tuned.winner].timing.median;
}

std::string Gain(double before, double after) {
  const std::string times =
      Format("{} -> {}", TimeText(before), TimeText(after));
  return after <= 0 ? times
                    : Format("{}, {:.2f} times as fast", times, before / after);
}

std::vector<size_t> FastestFirst(const std::vector<TunedKernel>& kernels) {
  std::vector<size_t> order(kernels.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto seconds = [&](size_t i) {
    const Timing& timing = kernels[i].timing;
    return timing.rounds == 0 ? std::numeric_limits<double>::infinity()
                              : timing.median;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return seconds(a) < seconds(b); });
  return order;
}

std::string WhyLeftOut(const TuneResult& result) {
  if (result.cancelled) return "";
  if (result.disturbed == 0) return " for want of time";
  return Format(
      ", {} of them since other programs had the CPUs that kernels waited for: "
      "tune again when the machine is quiet",
      result.disturbed == result.left_out ? "all"
                                          : std::to_string(result.disturbed));
}

// The kernel, with its place if kernels at several places were compared.
std::string Decided(const TunedSignature& tuned) {
  const PlaceKey first =
      tuned.kernels.empty() ? PlaceKey() : tuned.kernels.front().place;
  const bool places = std::ranges::any_of(
      tuned.kernels,
      [&](const TunedKernel& kernel) { return kernel.place != first; });
  const auto name = [&](int index) {
    const TunedKernel& kernel = tuned.kernels[index];
    return places ? Format("{} at {}", kernel.kernel->variant, kernel.place)
                  : kernel.kernel->variant;
  };
  if (tuned.disturbed) {
    return "no times are kept: kernels waited for CPUs that other programs had";
  }
  if (!tuned.has_reference) {
    return "not measured: the op has no plain kernel to compare others with";
  }
  if (tuned.winner < 0) return "no kernel could be measured";
  if (tuned.winner == tuned.before) {
    return Format("stays with {}{}", name(tuned.winner),
                  tuned.tie ? " (a tie)" : "");
  }
  const std::string from = tuned.before < 0 ? "?" : name(tuned.before);
  std::string text = Format("{} -> {}", from, name(tuned.winner));
  const double before = Before(tuned);
  if (before > 0) text += Format(", {}", Gain(before, After(tuned)));
  if (tuned.tie) text += " (a tie)";
  return text;
}

std::string Row(const TunedSignature& tuned, size_t index, size_t width) {
  const TunedKernel& kernel = tuned.kernels[index];
  const Timing& timing = kernel.timing;
  const bool winner = static_cast<int>(index) == tuned.winner;
  const bool before = static_cast<int>(index) == tuned.before;
  std::string row = Format("  {}{} {:<{}}", winner ? '*' : ' ',
                           before ? '<' : ' ', ToString(*kernel.kernel), width);
  if (timing.rounds > 0) {
    const std::string range =
        timing.rounds == 1
            ? "1 call, far too slow"
            : Format("{} to {}", TimeText(timing.low), TimeText(timing.high));
    row += Format("  {:>10}  {:<24}  {}", TimeText(timing.median), range,
                  PredictionText(kernel.predicted_seconds, kernel.evidence));
  }
  if (kernel.verdict == Verdict::kWrong) row += "  WRONG";
  if (!kernel.message.empty()) row += Format("  {}", kernel.message);
  row.erase(row.find_last_not_of(' ') + 1);
  return row + "\n";
}

}  // namespace

std::string ToString(const TuneResult& result) {
  std::string text;
  double before = 0;
  double after = 0;
  size_t width = 0;
  for (const TunedSignature& tuned : result.signatures) {
    for (const TunedKernel& kernel : tuned.kernels) {
      width = std::max(width, ToString(*kernel.kernel).size());
    }
  }
  for (const TunedSignature& tuned : result.signatures) {
    text += Format("op {}{}: {}\n  {}\n", tuned.op_index,
                   tuned.ops == 1 ? "" : Format(" and {} more", tuned.ops - 1),
                   tuned.signature, Decided(tuned));
    for (const size_t index : FastestFirst(tuned.kernels)) {
      text += Row(tuned, index, width);
    }
    if (tuned.plan > 0 || Before(tuned) <= 0 || After(tuned) <= 0) continue;
    before += tuned.ops * Before(tuned);
    after += tuned.ops * After(tuned);
  }
  if (!result.signatures.empty()) {
    text +=
        "(* runs now, < ran before; median, 95 % interval, and what was "
        "expected)\n";
  }
  if (after > 0) {
    text += Format("kernels of one run, where both were timed: {}\n",
                   Gain(before, after));
  }
  const auto compared = static_cast<int>(
      std::ranges::count_if(result.signatures, &TunedSignature::has_reference));
  const int others = static_cast<int>(result.signatures.size()) - compared;
  text += Format("{} measured in {:.2f} s, {} known already",
                 Count(compared, "signature"), result.seconds, result.known);
  if (others > 0) text += Format(", {} without a plain kernel", others);
  if (result.left_out > 0) {
    text += Format(", {} left out{}", result.left_out, WhyLeftOut(result));
  }
  return text + (result.cancelled ? "; cancelled\n" : "\n");
}

}  // namespace sluice
