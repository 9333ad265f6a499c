#include "sluice/framework/choice/resolver.h"

#include <algorithm>
#include <set>

#include "sluice/framework/choice/hint_names.h"
#include "sluice/framework/choice/op_signature.h"
#include "sluice/framework/choice/op_threads.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

bool Fits(const PreparedOp& op,
          const KernelHint& hint,
          const Candidate& candidate) {
  return HintFits(hint, *candidate.kernel, candidate.place, op.list->layout);
}

const KernelHint* PreferredBy(const PreparedOp& op,
                              const Candidate& a,
                              const Candidate& b) {
  for (const KernelHint* hint : op.hints) {
    if (hint->Wants() && Fits(op, *hint, a) != Fits(op, *hint, b)) return hint;
  }
  return nullptr;
}

bool Better(const PreparedOp& op, const Candidate& a, const Candidate& b) {
  if (const KernelHint* hint = PreferredBy(op, a, b)) {
    return Fits(op, *hint, a);
  }
  const bool a_expected = a.place == op.list->expected_place;
  const bool b_expected = b.place == op.list->expected_place;
  if (a_expected != b_expected) return a_expected;
  return a.seconds < b.seconds;
}

// "variant=plain": the constraint of a hint that says most.
std::string SubjectOf(const KernelHint& hint) {
  if (!hint.variant.empty()) return "variant=" + hint.variant;
  if (!hint.library.empty()) return "library=" + hint.library;
  if (!hint.place.empty()) return "place=" + hint.place;
  return "layout=" + hint.layout;
}

// Returns why no other kernel was left.
Reason WhyAlone(const PreparedOp& op) {
  for (const Candidate& candidate : op.list->candidates) {
    if (candidate.refusal.empty() || candidate.kernel->key.dtype != op.dtype) {
      continue;
    }
    const bool wrong = candidate.record != nullptr &&
                       candidate.record->verdict == Verdict::kWrong;
    if (wrong) return Reason::kOthersWrong;
    for (const KernelHint* hint : op.hints) {
      if (hint->mode == HintMode::kExclude && Fits(op, *hint, candidate)) {
        return Reason::kOthersExcluded;
      }
    }
  }
  return Reason::kOnlyKernel;
}

// Returns how the time of `chosen` compares with that of `second`.
Reason WhyFaster(const Candidate& chosen, const Candidate& second) {
  if (second.seconds == chosen.seconds) return Reason::kTie;
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

// Sets the reason why `chosen` is better than `second`, the next one.
void SetReason(const Candidate& chosen,
               const Candidate* second,
               PreparedOp* op) {
  const PlaceKey expected = op->list->expected_place;
  op->fell_back = false;
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
    op->reason =
        op->why.reason == Reason::kTie
            ? Format("{} as is {}; registered first", PredictionText(chosen),
                     KernelName(*second->kernel))
            : Format("{} before {} with {}", PredictionText(chosen),
                     KernelName(*second->kernel), PredictionText(*second));
  }
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
  const bool by_record = candidate.record != nullptr &&
                         candidate.record->verdict == Verdict::kWrong;
  return Format("\n  {}: {}{}", *candidate.kernel, candidate.refusal,
                by_record ? " (a record says so; SLUICE_RECORDS=off, which "
                            "reads none, runs it anyway)"
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

[[noreturn]] void FailNoKernel(const PreparedOp& op) {
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

void UseOwnKernel(PreparedOp* op) {
  const auto list = std::make_shared<CandidateList>();
  list->signature = OpSignature(*op);
  list->expected_place = CPUPlace();
  Candidate& candidate = list->candidates.emplace_back();
  candidate.kernel = op->own_kernel->def;
  candidate.place = CPUPlace();
  candidate.seconds = candidate.estimate = op->own_kernel->seconds;
  op->list = list;
  op->chosen = 0;
  op->why = {Reason::kRunsBlocks, ""};
  op->reason = op->own_kernel->reason;
}

// Makes and prepares the kernel of op->choice(); keeps it unless `probe`.
// If the kernel refuses the op, returns false and stores its message as the
// candidate's refusal.
bool MakeKernel(int num_threads, bool probe, PreparedOp* op) {
  Candidate& choice = op->list->candidates[op->chosen];
  try {
    auto kernel =
        op->own_kernel != nullptr
            ? op->own_kernel->make()
            : choice.kernel->make({op->desc, choice.kernel->key, op->id});
    const KernelQuery query = op->QueryAt(choice.place);
    KernelPreparation preparation{query};
    const int threads =
        op->own_kernel != nullptr
            ? num_threads
            : ThreadsFor(*op, *choice.kernel, choice.place, num_threads);
    preparation.num_threads = threads;
    preparation.probe = probe;
    kernel->Prepare(preparation);
    if (probe) return true;
    op->kernel = threads == num_threads ? std::move(kernel)
                                        : OnOneThread(std::move(kernel));
    op->scratch_bytes = preparation.scratch_bytes;
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnimplemented) throw;
    choice.refusal = error.what();
    return false;
  }
}

// Returns why another kernel was chosen than a hint prefers.
std::string WhyNotObeyed(const PreparedOp& op, const KernelHint& hint) {
  const Candidate* named = nullptr;
  for (const Candidate& candidate : op.list->candidates) {
    if (!HintFitsButLayout(hint, *candidate.kernel, candidate.place)) continue;
    const bool same_dtype = candidate.kernel->key.dtype == op.dtype;
    if (named == nullptr || same_dtype) named = &candidate;
    if (same_dtype && candidate.refusal.empty()) break;
  }
  if (named == nullptr) return Format("no kernel of {} fits", op.desc.type);
  if (!named->refusal.empty()) {
    return Format("{} is refused: {}", *named->kernel, named->refusal);
  }
  if (!Fits(op, hint, *named)) {
    return Format("the op has layout {}", op.list->layout);
  }
  const KernelHint* stronger = PreferredBy(op, op.choice(), *named);
  return stronger == nullptr ? Format("{} is better", *op.choice().kernel)
                             : Format("a stronger hint: {}", *stronger);
}

}  // namespace

int64_t Decision::transfer_bytes(PlaceKey at) const {
  for (const auto& [transfer_place, bytes] : transfers) {
    if (transfer_place == at) return bytes;
  }
  return 0;
}

void Resolve(CandidateLister* lister, PreparedOp* op) {
  if (op->own_kernel != nullptr) return UseOwnKernel(op);
  if (op->list == nullptr) op->list = lister->List(*op);
  const auto& candidates = op->list->candidates;
  const Candidate* best = nullptr;
  const Candidate* second = nullptr;
  for (const Candidate& candidate : candidates) {
    if (!candidate.refusal.empty()) continue;
    if (best == nullptr || Better(*op, candidate, *best)) {
      second = std::exchange(best, &candidate);
    } else if (second == nullptr || Better(*op, candidate, *second)) {
      second = &candidate;
    }
  }
  if (best == nullptr) FailNoKernel(*op);
  op->chosen = static_cast<int>(best - candidates.data());
  SetReason(*best, second, op);
}

std::vector<HintAnswer> AnswerHints(const PreparedOp& op) {
  std::vector<HintAnswer> answers;
  for (const KernelHint* hint : op.hints) {
    if (!hint->Wants()) continue;
    HintAnswer answer{Format("{}: {}", hint->selector, *hint),
                      Fits(op, *hint, op.choice()), ""};
    if (!answer.obeyed) answer.why_not = WhyNotObeyed(op, *hint);
    answers.push_back(std::move(answer));
  }
  return answers;
}

std::string WhyNotObeyed(CandidateLister* lister,
                         const OpFacts& facts,
                         const KernelHint& hint) {
  PreparedOp op;
  static_cast<OpFacts&>(op) = facts;
  op.hints = {&hint};
  try {
    Resolve(lister, &op);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    return "";
  }
  return WhyNotObeyed(op, hint);
}

void ChooseKernel(CandidateLister* lister, int num_threads, PreparedOp* op) {
  while (op->kernel == nullptr) {
    Resolve(lister, op);
    MakeKernel(num_threads, false, op);
  }
}

void ProbeKernels(CandidateLister* lister, int num_threads, PreparedOp* op) {
  do {
    Resolve(lister, op);
  } while (!MakeKernel(num_threads, true, op));
}

}  // namespace sluice
