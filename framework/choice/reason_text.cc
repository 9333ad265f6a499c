#include "sluice/framework/choice/reason_text.h"

#include <algorithm>
#include <set>

#include "sluice/framework/choice/hint_names.h"
#include "sluice/framework/choice/resolver.h"
#include "sluice/memory/allocator.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

// "variant=plain": the constraint of a hint that says most.
std::string SubjectOf(const KernelHint& hint) {
  if (!hint.variant.empty()) return "variant=" + hint.variant;
  if (!hint.library.empty()) return "library=" + hint.library;
  if (!hint.place.empty()) return "place=" + hint.place;
  return "layout=" + hint.layout;
}

bool IsKnownWrong(const Candidate& candidate) {
  return candidate.record != nullptr &&
         candidate.record->verdict == Verdict::kWrong;
}

// Returns why no other kernel was left.
Reason WhyAlone(const PreparedOp& op) {
  for (const Candidate& candidate : op.list->candidates) {
    if (candidate.refusal.empty() || candidate.kernel->key.dtype != op.dtype) {
      continue;
    }
    if (IsKnownWrong(candidate)) return Reason::kOthersWrong;
    for (const KernelHint* hint : op.hints) {
      if (hint->mode == HintMode::kExclude && op.Fits(*hint, candidate)) {
        return Reason::kOthersExcluded;
      }
    }
  }
  return Reason::kOnlyKernel;
}

// Returns how the time of `chosen` compares with that of `second`.
Reason WhyFaster(const Candidate& chosen, const Candidate& second) {
  if (second.seconds == chosen.seconds) {
    const bool is_last = second.basis == Basis::kNothing;
    const bool both = chosen.basis == Basis::kNothing;
    return is_last && !both ? Reason::kOthersUnmeasured : Reason::kTie;
  }
  if (second.seconds < chosen.seconds) {
    return second.work.kept_bytes > chosen.work.kept_bytes
               ? Reason::kKeepsLess
               : Reason::kPreparedSooner;
  }
  if (chosen.evidence == Evidence::kRecord &&
      second.evidence == Evidence::kRecord) {
    const bool overlap = second.record->low <= chosen.record->high;
    return overlap ? Reason::kNearTie : Reason::kFastestMeasured;
  }
  constexpr double kNear = 1.1;
  if (second.seconds < kNear * chosen.seconds) return Reason::kNearTie;
  if (chosen.evidence == Evidence::kRecord) return Reason::kFastestMeasured;
  return chosen.evidence == Evidence::kNearby ? Reason::kFastestNearby
                                              : Reason::kFastestEstimate;
}

std::string TimesText(Reason reason,
                      const Candidate& chosen,
                      const Candidate& second) {
  const std::string time = PredictionText(chosen);
  const std::string other = KernelName(*second.kernel);
  switch (reason) {
    case Reason::kTie:
      return Format("{} as is {}; registered first", time, other);
    case Reason::kOthersUnmeasured:
      return Format("{}; {} was not measured", time, other);
    case Reason::kPreparedSooner:
      return Format(
          "{} before {} with {}, and {} to prepare for each size", time, other,
          PredictionText(second),
          PredictionText(second.work.prepare_seconds, Evidence::kEstimate));
    case Reason::kKeepsLess:
      return Format(
          "{} before {} with {}, which keeps {} more of parameters", time,
          other, PredictionText(second),
          ShortBytes(second.work.kept_bytes - chosen.work.kept_bytes));
    default:
      return Format("{} before {} with {}", time, other,
                    PredictionText(second));
  }
}

// Returns the strongest hint that rules out a faster kernel, or else `second`,
// the next one; null if none does.
const KernelHint* DecidingHint(const PreparedOp& op,
                               const Candidate& chosen,
                               const Candidate* second) {
  for (const KernelHint* hint : op.hints) {
    if (hint->mode == HintMode::kRequire) return hint;
  }
  const KernelHint* preferred =
      second == nullptr ? nullptr : PreferredBy(op, chosen, *second);
  for (const Candidate& other : op.list->candidates) {
    if (preferred != nullptr) break;
    const bool faster = other.refusal.empty() && other.place == chosen.place &&
                        other.seconds < chosen.seconds;
    if (faster) preferred = PreferredBy(op, chosen, other);
  }
  return preferred;
}

// Returns the place where the op should have run: that of a requiring hint,
// else the executor's.
std::string WantedPlace(const PreparedOp& op) {
  for (const KernelHint* hint : op.hints) {
    if (hint->mode == HintMode::kRequire && !hint->place.empty()) {
      return Format("{} (hint: {})", hint->place, *hint);
    }
  }
  return ToString(op.list->expected_place);
}

// Whether every `require` about the op matches the kernel, in any layout.
bool IsNamed(const PreparedOp& op, const Candidate& candidate) {
  return std::all_of(op.hints.begin(), op.hints.end(), [&](auto* hint) {
    return hint->mode != HintMode::kRequire ||
           HintFitsButLayout(*hint, *candidate.kernel, candidate.place);
  });
}

std::string RefusalText(const Candidate& candidate) {
  return Format("\n  {}: {}{}", *candidate.kernel, candidate.refusal,
                IsKnownWrong(candidate)
                    ? " (a record says so; SLUICE_RECORDS=off, which reads "
                      "none, runs it anyway)"
                    : "");
}

// Lists the kernels that match the hints, those of the op's dtype first; all if
// none match.
std::string RefusalsText(const PreparedOp& op) {
  std::vector<const Candidate*> named;
  for (const Candidate& candidate : op.list->candidates) {
    if (IsNamed(op, candidate)) named.push_back(&candidate);
  }
  const size_t others =
      named.empty() ? 0 : op.list->candidates.size() - named.size();
  if (named.empty()) {
    for (const Candidate& candidate : op.list->candidates) {
      named.push_back(&candidate);
    }
  }
  std::stable_partition(named.begin(), named.end(), [&](auto* candidate) {
    return candidate->kernel->key.dtype == op.dtype;
  });
  std::string text;
  for (const Candidate* candidate : named) {
    text += RefusalText(*candidate);
  }
  if (others > 0) {
    text += Format("\n  and {} other{} that the hint does not name", others,
                   others == 1 ? "" : "s");
  }
  return text;
}

// "no kernel of conv2d is at fpga:0; there are at cpu, cuda" where a hint
// requires a place that no kernel of the op is for; else "".
std::string NoneAtPlace(const PreparedOp& op) {
  std::set<std::string> kinds;
  for (const Candidate& candidate : op.list->candidates) {
    kinds.insert(std::string(ToString(candidate.kernel->key.place)));
  }
  for (const KernelHint* hint : op.hints) {
    const std::string kind = hint->place.substr(0, hint->place.find(':'));
    if (hint->mode != HintMode::kRequire || kind.empty()) continue;
    if (kinds.empty() || kinds.count(kind) > 0) continue;
    std::string there;
    for (const std::string& each : kinds) {
      there += (there.empty() ? "" : ", ") + each;
    }
    return Format("no kernel of {} is at {}; there are at {}", op.desc.type,
                  hint->place, there);
  }
  return "";
}

}  // namespace

void GiveReason(PreparedOp* op) {
  op->fell_back = false;
  if (op->own_kernel != nullptr) {
    op->why = {Reason::kRunsBlocks, ""};
    op->reason = op->own_kernel->reason;
    return;
  }
  const Candidate& chosen = op->choice();
  const Candidate* second =
      op->second < 0 ? nullptr : &op->list->candidates[op->second];
  const PlaceKey expected = op->list->expected_place;
  if (const KernelHint* hint = DecidingHint(*op, chosen, second)) {
    const bool requires_it = hint->mode == HintMode::kRequire;
    op->why = {requires_it ? Reason::kHintRequires : Reason::kHintPrefers,
               SubjectOf(*hint)};
    op->reason = Format("hint: {}", *hint);
  } else if (chosen.place != expected && chosen.place.kind == PlaceKind::kCPU) {
    op->fell_back = true;
    op->why = {Reason::kFellBack, ToString(expected)};
    op->reason = Format("no kernel that fits at {}", expected);
  } else if (second == nullptr) {
    op->why = {WhyAlone(*op), ""};
    op->reason = "the only kernel that fits";
  } else if (second->place != chosen.place) {
    op->why = {Reason::kKeptAtPlace, ToString(chosen.place)};
    op->reason = Format("at the expected place {}", chosen.place);
  } else {
    op->why = {WhyFaster(chosen, *second), ""};
    op->reason = TimesText(op->why.reason, chosen, *second);
  }
}

void RaiseNoKernel(const PreparedOp& op) {
  std::string text = NoneAtPlace(op);
  if (text.empty()) {
    text = Format("{}: no kernel fits {} at {}:", op.desc.type, op.dtype,
                  WantedPlace(op));
    const std::string refusals = RefusalsText(op);
    text += refusals;
    for (const std::string& note : op.list->notes) {
      text += "\n  " + note;
    }
    if (refusals.empty()) text += " no kernel is registered for it";
  }
  Raise(ErrorCode::kNotFound, "resolver.no_kernel", "{}", text);
}

WhyNot WhyNotObeyed(const PreparedOp& op, const KernelHint& hint) {
  const Candidate* named = nullptr;
  for (const Candidate& candidate : op.list->candidates) {
    if (!HintFitsButLayout(hint, *candidate.kernel, candidate.place)) continue;
    const bool same_dtype = candidate.kernel->key.dtype == op.dtype;
    if (named == nullptr || same_dtype) named = &candidate;
    if (same_dtype && candidate.refusal.empty()) break;
  }
  if (named == nullptr) return {Format("no kernel of {} fits", op.desc.type)};
  if (!named->refusal.empty()) {
    return {Format("{} is refused: {}", *named->kernel, named->refusal),
            IsKnownWrong(*named)};
  }
  if (!op.Fits(hint, *named)) {
    return {Format("the op has layout {}", op.list->layout)};
  }
  const KernelHint* stronger = PreferredBy(op, op.choice(), *named);
  return {stronger == nullptr ? Format("{} is better", *op.choice().kernel)
                              : Format("a stronger hint: {}", *stronger)};
}

}  // namespace sluice
