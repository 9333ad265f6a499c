#include "sluice/framework/plan/resolver.h"

#include <algorithm>

#include "sluice/platform/device.h"
#include "sluice/platform/error.h"

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
  const KernelDef& kernel = *candidate.kernel;
  return PlaceFits(hint.place, candidate.place) &&
         (hint.library.empty() || hint.library == kernel.key.library) &&
         (hint.variant.empty() || hint.variant == kernel.variant) &&
         (hint.layout.empty() || hint.layout == ToString(kernel.key.layout));
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
    for (const KernelDef* kernel : registry_.Kernels(request_.op.type)) {
      Candidate candidate;
      candidate.kernel = kernel;
      candidate.place = PlaceOf(*kernel);
      candidate.refusal = Refusal(candidate);
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
      if (hint->place.empty()) continue;
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
    if (kernel.predicate == nullptr) return "";
    return kernel.predicate({request_.schema, request_.op, request_.inputs,
                             request_.input_dtypes, request_.outputs,
                             request_.output_dtypes, candidate.place});
  }

  const KernelHint* ExcludedBy(const Candidate& candidate) const {
    for (const KernelHint* hint : hints_) {
      if (hint->require && !Fits(*hint, candidate)) return hint;
    }
    return nullptr;
  }

  // The executor's place, the CPU as fallback, and what a hint names.
  bool PlaceAllowed(PlaceKey place) const {
    if (place == request_.expected_place || place.kind == PlaceKind::kCPU) {
      return true;
    }
    return std::any_of(hints_.begin(), hints_.end(), [&](auto* hint) {
      return !hint->place.empty() && PlaceFits(hint->place, place);
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
      if (Fits(*hint, a) != Fits(*hint, b)) return hint;
    }
    return nullptr;
  }

  bool Better(const Candidate& a, const Candidate& b) const {
    if (const KernelHint* hint = PreferredBy(a, b)) return Fits(*hint, a);
    const bool a_expected = a.place == request_.expected_place;
    const bool b_expected = b.place == request_.expected_place;
    if (a_expected != b_expected) return a_expected;
    return a.kernel->priority > b.kernel->priority;
  }

  std::string Reason(const Candidate& chosen, const Candidate* second) const {
    std::string fallback;
    if (chosen.place != request_.expected_place &&
        chosen.place.kind == PlaceKind::kCPU) {
      fallback = Format("no kernel that fits at {}; {} input bytes move",
                        request_.expected_place, chosen.transfer_bytes);
    }
    for (const KernelHint* hint : hints_) {
      if (hint->require) return Format("hint: {}", *hint);
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
    if (second->kernel->priority != chosen.kernel->priority) {
      return Format("priority {} before {} with {}", chosen.kernel->priority,
                    second->kernel->variant, second->kernel->priority);
    }
    return "registered first";
  }

  [[noreturn]] void FailNoKernel() const {
    std::string refusals;
    for (const Candidate& candidate : decision_.candidates) {
      refusals += Format("\n  {}: {}", *candidate.kernel, candidate.refusal);
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

Decision Resolve(const ResolveRequest& request, const Registry& registry) {
  return Resolver(request, registry).Run();
}

}  // namespace sluice::framework
