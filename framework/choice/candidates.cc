#include "sluice/framework/choice/candidates.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sluice/framework/choice/hint_names.h"
#include "sluice/framework/choice/op_signature.h"
#include "sluice/framework/op/kernel_call.h"
#include "sluice/framework/op/op_schema.h"
#include "sluice/platform/device.h"
#include "sluice/platform/error.h"
#include "sluice/platform/plugin/kernel_module.h"

namespace sluice {

namespace {

// "fpga" matches every device of the kind, "fpga:1" one.
bool PlaceFits(const std::string& wanted, PlaceKey place) {
  return wanted.empty() || wanted == ToString(place) ||
         wanted == ToString(place.kind);
}

// Returns a hint that excludes every kernel of a library, which then need not
// be loaded.
const KernelHint* LibraryOff(const std::string& library,
                             const std::vector<const KernelHint*>& hints) {
  for (const KernelHint* hint : hints) {
    const bool named = SameName(hint->library, library);
    if (!hint->library.empty() && !named) continue;
    if (hint->mode == HintMode::kAllow) return nullptr;
    if (hint->mode == HintMode::kExclude && named && hint->place.empty() &&
        hint->variant.empty() && hint->layout.empty()) {
      return hint;
    }
  }
  return nullptr;
}

// Why kernels cannot compute one op; lives for one list.
class Refusals {
 public:
  Refusals(const OpFacts& op, PlaceKey expected_place, Layout layout)
      : op_(op), expected_place_(expected_place), layout_(layout) {}

  // Returns the place where a kernel of this kind would run: the executor's
  // place, else the place that a hint names, else the first device of the kind.
  PlaceKey PlaceOf(const KernelDef& kernel) const {
    const PlaceKind kind = kernel.key.place;
    for (const KernelHint* hint : op_.hints) {
      if (hint->place.empty() || !hint->Wants()) continue;
      const PlaceKey named = ParsePlaceKey(hint->place);
      if (named.kind != kind) continue;
      const bool any_device = hint->place == ToString(kind);
      if (any_device && expected_place_.kind == kind) continue;
      return named;
    }
    if (kind == expected_place_.kind) return expected_place_;
    return {kind, 0};
  }

  // Returns "" for a kernel that can compute the op. `elsewhere`: see
  // Candidate.
  std::string Of(const KernelDef& kernel,
                 PlaceKey place,
                 bool* elsewhere) const {
    if (kernel.key.dtype != op_.dtype) {
      return Format("computes {}, this op is {}", kernel.key.dtype, op_.dtype);
    }
    if (const KernelHint* hint = ExcludedBy(kernel, place)) {
      const std::string why = WhyNotInLayout(*hint, kernel, place);
      return why.empty() ? Format("excluded by hint: {}", *hint)
                         : Format("{} (hint: {})", why, *hint);
    }
    const bool on_cpu = place.kind == PlaceKind::kCPU;
    const auto known = [](const DDim& dims) { return dims.known(); };
    if (!on_cpu &&
        !std::all_of(op_.outputs.begin(), op_.outputs.end(), known)) {
      return "the shape of an output depends on data, which only kernels of "
             "the CPU can find out";
    }
    if (!PlaceAllowed(place)) {
      *elsewhere = true;
      return WhyElsewhere(expected_place_, ToString(place));
    }
    if (place.index >= DeviceManager::Instance().Count(place.kind)) {
      return Format("there is no device {}", place);
    }
    return Refusal(kernel, op_.QueryAt(place));
  }

 private:
  const KernelHint* ExcludedBy(const KernelDef& kernel, PlaceKey place) const {
    bool allowed = false;  // by a hint stronger than the current one
    for (const KernelHint* hint : op_.hints) {
      const bool fits = HintFits(*hint, kernel, place, layout_);
      if (hint->mode == HintMode::kRequire && !fits) return hint;
      if (hint->mode == HintMode::kAllow && fits) allowed = true;
      if (hint->mode == HintMode::kExclude && fits && !allowed) return hint;
    }
    return nullptr;
  }

  // For a hint that requires this kernel in another layout than the op's:
  // returns why the kernel's predicate refuses the op, so that no pass changed
  // the layout; "" if it does not refuse.
  std::string WhyNotInLayout(const KernelHint& hint,
                             const KernelDef& kernel,
                             PlaceKey place) const {
    const bool named = hint.mode == HintMode::kRequire &&
                       !hint.layout.empty() &&
                       HintFitsButLayout(hint, kernel, place);
    return named ? Refusal(kernel, op_.QueryAt(place)) : "";
  }

  // Allows the executor's place, the CPU as fallback, and places in hints.
  bool PlaceAllowed(PlaceKey place) const {
    if (place == expected_place_ || place.kind == PlaceKind::kCPU) return true;
    return std::any_of(op_.hints.begin(), op_.hints.end(), [&](auto* hint) {
      return hint->Wants() && !hint->place.empty() &&
             PlaceFits(hint->place, place);
    });
  }

  const OpFacts& op_;
  PlaceKey expected_place_;
  Layout layout_;
};

}  // namespace

std::pair<double, double> ComparableSeconds(const PredictedTime& a,
                                            const PredictedTime& b) {
  std::pair<double, double> seconds(a.seconds, b.seconds);
  if (a.by_records == b.by_records) return seconds;
  const PredictedTime& known = a.by_records ? a : b;
  if (known.estimate > 0) {
    (a.by_records ? seconds.second : seconds.first) *=
        known.seconds / known.estimate;
  }
  return seconds;
}

std::string WhyElsewhere(PlaceKey expected, std::string_view place) {
  return Format(
      "not considered: the executor is at {} (hint place={} allows "
      "it)",
      expected, place);
}

std::string_view ToString(Evidence evidence) {
  constexpr std::string_view kNames[] = {"measured", "measured nearby",
                                         "estimated"};
  return kNames[static_cast<int>(evidence)];
}

std::string PredictionText(double seconds, Evidence evidence) {
  double us = seconds * 1e6;
  if (evidence == Evidence::kEstimate && us > 0 && std::isfinite(us)) {
    const double digit = std::pow(10, std::floor(std::log10(us)) - 1);
    us = std::round(us / digit) * digit;
  }
  // From four digits on, {:.3g} would print an exponent.
  const std::string time = us < 999.5     ? Format("{:.3g} us", us)
                           : us < 999.5e3 ? Format("{:.3g} ms", us / 1e3)
                                          : Format("{:.4g} s", us / 1e6);
  return Format("{} {}", time, evidence);
}

std::string PredictionText(const Candidate& candidate) {
  return PredictionText(candidate.seconds, candidate.evidence);
}

bool HintFitsButLayout(const KernelHint& hint,
                       const KernelDef& kernel,
                       PlaceKey place) {
  return PlaceFits(hint.place, place) &&
         (hint.library.empty() || SameName(hint.library, kernel.key.library)) &&
         (hint.variant.empty() || NamesKernel(hint.variant, kernel));
}

bool HintFits(const KernelHint& hint,
              const KernelDef& kernel,
              PlaceKey place,
              Layout layout) {
  return HintFitsButLayout(hint, kernel, place) &&
         (hint.layout.empty() ||
          SameName(hint.layout, ToString(Layout::kAny)) ||
          SameName(hint.layout, ToString(layout)));
}

bool NamesKernelOf(const KernelHint& hint, std::string_view op, DType dtype) {
  const auto kernels = Registry::Global().Kernels(op);
  return std::any_of(
      kernels.begin(), kernels.end(), [&](const KernelDef* kernel) {
        return kernel->key.dtype == dtype &&
               HintFitsButLayout(hint, *kernel, {kernel->key.place, 0});
      });
}

std::vector<std::string> LoadLibraries(
    std::string_view op,
    const std::vector<const KernelHint*>& hints,
    const Registry& registry) {
  std::vector<std::string> notes;
  for (const KernelModule* module : registry.Modules(op)) {
    if (const KernelHint* off = LibraryOff(module->library, hints)) {
      notes.push_back(Format("library {} is off: {}", module->library, *off));
      continue;
    }
    const std::string& missing = LoadModule(module->name);
    if (!missing.empty()) {
      notes.push_back(
          Format("library {} is not there: {}", module->library, missing));
    }
  }
  return notes;
}

CandidateLister::CandidateLister(const Registry& registry,
                                 PlaceKey expected_place,
                                 int num_threads)
    : registry_(registry),
      expected_place_(expected_place),
      num_threads_(num_threads),
      machine_(ActiveCostModel().Figures(num_threads)),
      costs_(ActiveCostModel().Begin(num_threads)) {}

CandidateLister::~CandidateLister() = default;

void CandidateLister::Estimate(const OpFacts& op, Candidate* candidate) const {
  const KernelDef& kernel = *candidate->kernel;
  const KernelQuery query = op.QueryAt(candidate->place);
  candidate->work = WorkOf(kernel, query);
  const bool on_cpu = candidate->place.kind == PlaceKind::kCPU;
  static const MachineFigures kDevice = DeviceFigures();
  candidate->estimate = PredictSeconds(
      candidate->work,
      KernelCosts::Active().Of(CostRow(kernel, candidate->work), op.dtype),
      op.dtype, on_cpu ? machine_ : kDevice, num_threads_);
  candidate->seconds = candidate->estimate;
}

namespace {

Basis BasisOf(const Candidate& candidate) {
  const KernelDef& kernel = *candidate.kernel;
  if (candidate.evidence != Evidence::kEstimate) return Basis::kKnown;
  if (kernel.comes_last) return Basis::kNothing;
  const bool known = kernel.estimate ||
                     KernelCosts::Active().Has(CostRow(kernel, candidate.work));
  return known ? Basis::kKnown : Basis::kDefault;
}

// A time with a worse basis is not assumed to be shorter than one with a better
// basis.
void PutUnknownWorkLast(std::vector<Candidate>* candidates) {
  for (Candidate& candidate : *candidates) {
    candidate.basis = BasisOf(candidate);
  }
  for (const Basis basis : {Basis::kDefault, Basis::kNothing}) {
    std::map<PlaceKey, double> slowest;
    for (const Candidate& candidate : *candidates) {
      if (!candidate.refusal.empty() || candidate.basis >= basis) continue;
      double& seconds = slowest[candidate.place];
      seconds = std::max(seconds, candidate.seconds);
    }
    for (Candidate& candidate : *candidates) {
      if (candidate.basis != basis) continue;
      candidate.seconds = std::max(candidate.seconds, slowest[candidate.place]);
    }
  }
}

}  // namespace

std::shared_ptr<CandidateList> CandidateLister::List(const OpFacts& op) {
  std::string signature = OpSignature(op);
  std::shared_ptr<CandidateList>& list = lists_[{signature, op.hints}];
  if (list != nullptr) return list;
  list = std::make_shared<CandidateList>();
  list->signature = std::move(signature);
  list->expected_place = expected_place_;
  list->expected = {expected_place_.kind, op.dtype, "any"};
  list->layout = LayoutOf(op.desc);
  for (const KernelHint* hint : op.hints) {
    list->hints.push_back(ToString(*hint));
  }
  list->notes = LoadLibraries(op.desc.type, op.hints, registry_);
  const Refusals refusals(op, expected_place_, list->layout);
  for (const KernelDef* kernel : registry_.Kernels(op.desc.type)) {
    Candidate candidate;
    candidate.kernel = kernel;
    candidate.place = refusals.PlaceOf(*kernel);
    candidate.refusal =
        refusals.Of(*kernel, candidate.place, &candidate.elsewhere);
    if (candidate.refusal.empty()) Estimate(op, &candidate);
    list->candidates.push_back(std::move(candidate));
  }
  if (costs_ != nullptr) {
    costs_->CorrectTimes(list->signature, &list->candidates);
  }
  PutUnknownWorkLast(&list->candidates);
  return list;
}

}  // namespace sluice
