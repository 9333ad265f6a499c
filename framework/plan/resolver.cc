#include "sluice/framework/plan/resolver.h"

#include <algorithm>

#include "sluice/platform/device.h"
#include "sluice/platform/error.h"
#include "sluice/platform/plugin/kernel_module.h"

namespace sluice::framework {

using platform::ErrorCode;
using platform::Format;
using platform::PlaceKind;

namespace {

Layout ExpectedLayout(const OpDesc& op) {
  const auto found = op.attributes.find("data_format");
  if (found == op.attributes.end()) return Layout::kAny;
  const auto* name = std::get_if<std::string>(&found->second);
  if (name == nullptr) return Layout::kAny;
  return *name == "NCHW"   ? Layout::kNCHW
         : *name == "NHWC" ? Layout::kNHWC
                           : Layout::kAny;
}

// "fpga" allows every device of the kind, "fpga:1" one.
bool PlaceFits(const std::string& wanted, PlaceKey place) {
  return wanted.empty() || wanted == ToString(place) ||
         wanted == ToString(place.kind);
}

bool Fits(const KernelHint& hint, const Candidate& candidate) {
  return HintFits(hint, *candidate.kernel, candidate.place);
}

// The hint that excludes every kernel of a library, so that there is no need to
// load it.
const KernelHint* LibraryOff(const std::string& library,
                             const std::vector<const KernelHint*>& hints) {
  for (const KernelHint* hint : hints) {
    if (!hint->library.empty() && hint->library != library) continue;
    if (hint->mode == HintMode::kAllow) return nullptr;
    if (hint->mode == HintMode::kExclude && hint->library == library &&
        hint->place.empty() && hint->variant.empty() && hint->layout.empty()) {
      return hint;
    }
  }
  return nullptr;
}

// Collects the Decision for one op; lives for one call of Resolve.
class Resolver {
 public:
  Resolver(const ResolveRequest& request, const Registry& registry)
      : request_(request), registry_(registry) {
    decision_.op_index = request.op_index;
    decision_.op = request.op.type;
    decision_.expected = {request.expected_place.kind, request.dtype,
                          ExpectedLayout(request.op), "any"};
    decision_.expected_place = request.expected_place;
    for (const KernelHint& hint : request.hints) {
      if (!hint.Matches(request.op, request.op_index)) continue;
      hints_.push_back(&hint);
      decision_.hints.push_back(ToString(hint));
    }
  }

  Decision Run() {
    LoadLibraries(request_.op.type, hints_, registry_, &decision_.notes);
    for (const KernelDef* kernel : registry_.Kernels(request_.op.type)) {
      Candidate candidate;
      candidate.kernel = kernel;
      candidate.place = PlaceOf(*kernel);
      candidate.refusal = Refusal(candidate);
      candidate.priority =
          candidate.refusal.empty() && kernel->priority_of != nullptr
              ? kernel->priority_of(QueryAt(candidate.place))
              : kernel->priority;
      candidate.transfer_bytes = TransferBytes(candidate.place);
      decision_.candidates.push_back(std::move(candidate));
    }
    std::vector<const Candidate*> accepted;
    for (const Candidate& candidate : decision_.candidates) {
      if (candidate.refusal.empty()) accepted.push_back(&candidate);
    }
    if (accepted.empty()) FailNoKernel();
    std::stable_sort(accepted.begin(), accepted.end(),
                     [&](auto* a, auto* b) { return Better(*a, *b); });
    const Candidate& chosen = *accepted.front();
    decision_.kernel = chosen.kernel;
    decision_.place = chosen.place;
    decision_.reason =
        Reason(chosen, accepted.size() > 1 ? accepted[1] : nullptr);
    return std::move(decision_);
  }

 private:
  // Where a kernel of this kind would run: at the executor's place, else at
  // the place that a hint names, else at the first device of the kind.
  PlaceKey PlaceOf(const KernelDef& kernel) const {
    const PlaceKind kind = kernel.key.place;
    for (const KernelHint* hint : hints_) {
      if (hint->place.empty() || !hint->Wants()) continue;
      const PlaceKey named = platform::ParsePlaceKey(hint->place);
      if (named.kind != kind) continue;
      const bool any_device = hint->place == ToString(kind);
      if (any_device && request_.expected_place.kind == kind) continue;
      return named;
    }
    if (kind == request_.expected_place.kind) return request_.expected_place;
    return {kind, 0};
  }

  std::string Refusal(const Candidate& candidate) const {
    const KernelDef& kernel = *candidate.kernel;
    if (kernel.key.dtype != request_.dtype) {
      return Format("computes {}, this op is {}", kernel.key.dtype,
                    request_.dtype);
    }
    const Layout layout = decision_.expected.layout;
    if (kernel.key.layout != Layout::kAny && layout != Layout::kAny &&
        kernel.key.layout != layout) {
      return Format("wants layout {}, this op is {}", kernel.key.layout,
                    layout);
    }
    if (const KernelHint* hint = ExcludedBy(candidate)) {
      return Format("excluded by hint: {}", *hint);
    }
    if (!PlaceAllowed(candidate.place)) {
      return Format("nobody asked for {} (a hint place={} would)",
                    candidate.place, candidate.place);
    }
    const auto& devices = platform::DeviceManager::Instance();
    if (candidate.place.index >= devices.Count(candidate.place.kind)) {
      return Format("there is no device {}", candidate.place);
    }
    for (const auto& [refused, words] : request_.refused) {
      if (refused == &kernel) return words;
    }
    if (kernel.predicate == nullptr) return "";
    return kernel.predicate(QueryAt(candidate.place));
  }

  KernelQuery QueryAt(PlaceKey place) const {
    return {request_.schema,
            request_.op,
            request_.inputs,
            request_.input_dtypes,
            request_.outputs,
            request_.output_dtypes,
            place,
            request_.input_constant};
  }

  const KernelHint* ExcludedBy(const Candidate& candidate) const {
    bool allowed = false;  // by a hint stronger than the one looked at
    for (const KernelHint* hint : hints_) {
      const bool fits = Fits(*hint, candidate);
      if (hint->mode == HintMode::kRequire && !fits) return hint;
      if (hint->mode == HintMode::kAllow && fits) allowed = true;
      if (hint->mode == HintMode::kExclude && fits && !allowed) return hint;
    }
    return nullptr;
  }

  // The executor's place, the CPU as fallback, and what a hint names.
  bool PlaceAllowed(PlaceKey place) const {
    if (place == request_.expected_place || place.kind == PlaceKind::kCPU) {
      return true;
    }
    return std::any_of(hints_.begin(), hints_.end(), [&](auto* hint) {
      return hint->Wants() && !hint->place.empty() &&
             PlaceFits(hint->place, place);
    });
  }

  int64_t TransferBytes(PlaceKey place) const {
    int64_t bytes = 0;
    for (size_t i = 0; i < request_.inputs.size(); ++i) {
      const auto& places = request_.input_places[i];
      if (!request_.input_moves[i] || !request_.inputs[i].known() ||
          std::find(places.begin(), places.end(), place) != places.end()) {
        continue;
      }
      bytes += request_.inputs[i].numel() *
               static_cast<int64_t>(SizeOf(request_.input_dtypes[i]));
    }
    return bytes;
  }

  const KernelHint* PreferredBy(const Candidate& a, const Candidate& b) const {
    for (const KernelHint* hint : hints_) {
      if (hint->Wants() && Fits(*hint, a) != Fits(*hint, b)) return hint;
    }
    return nullptr;
  }

  bool Better(const Candidate& a, const Candidate& b) const {
    if (const KernelHint* hint = PreferredBy(a, b)) return Fits(*hint, a);
    const bool a_expected = a.place == request_.expected_place;
    const bool b_expected = b.place == request_.expected_place;
    if (a_expected != b_expected) return a_expected;
    return a.priority > b.priority;
  }

  std::string Reason(const Candidate& chosen, const Candidate* second) const {
    std::string fallback;
    if (chosen.place != request_.expected_place &&
        chosen.place.kind == PlaceKind::kCPU) {
      fallback = Format("no kernel that fits at {}; {} input bytes move",
                        request_.expected_place, chosen.transfer_bytes);
    }
    for (const KernelHint* hint : hints_) {
      if (hint->mode == HintMode::kRequire) return Format("hint: {}", *hint);
    }
    if (second == nullptr) {
      return fallback.empty() ? "the only kernel that fits" : fallback;
    }
    if (const KernelHint* hint = PreferredBy(chosen, *second)) {
      return Format("hint: {}", *hint);
    }
    if (!fallback.empty()) return fallback;
    if (second->place != chosen.place) {
      return Format("at the expected place {}", chosen.place);
    }
    if (second->priority != chosen.priority) {
      return Format("priority {} before {} with {}", chosen.priority,
                    second->kernel->variant, second->priority);
    }
    return "registered first";
  }

  [[noreturn]] void FailNoKernel() const {
    std::string refusals;
    for (const Candidate& candidate : decision_.candidates) {
      refusals += Format("\n  {}: {}", *candidate.kernel, candidate.refusal);
    }
    for (const std::string& note : decision_.notes) {
      refusals += "\n  " + note;
    }
    if (refusals.empty()) refusals = " no kernel is registered for it";
    platform::Raise(ErrorCode::kNotFound, "resolver.no_kernel",
                    "{}: no kernel fits {} at {}:{}", request_.op.type,
                    request_.dtype, request_.expected_place, refusals);
  }

  const ResolveRequest& request_;
  const Registry& registry_;
  std::vector<const KernelHint*> hints_;
  Decision decision_;
};

}  // namespace

bool HintFits(const KernelHint& hint, const KernelDef& kernel, PlaceKey place) {
  return PlaceFits(hint.place, place) &&
         (hint.library.empty() || hint.library == kernel.key.library) &&
         (hint.variant.empty() || hint.variant == kernel.variant) &&
         (hint.layout.empty() || hint.layout == ToString(kernel.key.layout));
}

void LoadLibraries(std::string_view op,
                   const std::vector<const KernelHint*>& hints,
                   const Registry& registry,
                   std::vector<std::string>* notes) {
  for (const KernelModule* module : registry.Modules(op)) {
    if (const KernelHint* off = LibraryOff(module->library, hints)) {
      notes->push_back(Format("library {} is off: {}", module->library, *off));
      continue;
    }
    const std::string& missing = platform::LoadModule(module->name);
    if (!missing.empty()) {
      notes->push_back(
          Format("library {} is not there: {}", module->library, missing));
    }
  }
}

Decision Resolve(const ResolveRequest& request, const Registry& registry) {
  return Resolver(request, registry).Run();
}

ChosenKernel ChooseKernel(ResolveRequest request,
                          const Registry& registry,
                          int num_threads) {
  while (true) {
    ChosenKernel chosen;
    chosen.decision = Resolve(request, registry);
    const Decision& decision = chosen.decision;
    try {
      chosen.kernel = decision.kernel->make(
          {request.op, decision.kernel->key, decision.op_index});
      const KernelQuery query{request.schema,  request.op,
                              request.inputs,  request.input_dtypes,
                              request.outputs, request.output_dtypes,
                              decision.place,  request.input_constant};
      KernelPreparation preparation{query};
      preparation.num_threads = num_threads;
      chosen.kernel->Prepare(preparation);
      chosen.scratch_bytes = preparation.scratch_bytes;
      return chosen;
    } catch (const platform::Error& error) {
      if (error.code() != ErrorCode::kUnimplemented) throw;
      request.refused.emplace_back(decision.kernel, error.what());
    }
  }
}

}  // namespace sluice::framework
