#include "sluice/framework/inspect/plan_calls.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "sluice/framework/plan/block_plans.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

// Names of ops after the first of a fused op.
std::string_view ShortOp(std::string_view op) {
  static const std::map<std::string_view, std::string_view> kShort = {
      {"batch_norm", "bn"},       {"elementwise_add", "add"},
      {"elementwise_sub", "sub"}, {"elementwise_mul", "mul"},
      {"elementwise_div", "div"},
  };
  const auto found = kShort.find(op);
  return found == kShort.end() ? op : found->second;
}

std::string NameOf(const Decision& decision) {
  if (decision.covers.size() < 2) {
    return decision.covers.empty() ? decision.op : decision.covered_ops[0];
  }
  std::vector<size_t> order(decision.covers.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return decision.covers[a] < decision.covers[b];
  });
  std::string name = decision.covered_ops[order[0]];
  for (size_t i = 1; i < order.size(); ++i) {
    name += Format("+{}", ShortOp(decision.covered_ops[order[i]]));
  }
  return name;
}

std::string WhyOf(const Plan& plan, const PlanCall& call) {
  const auto& notes = plan.hint_notes();
  for (size_t i = 0; i < notes.size(); ++i) {
    if (notes[i].op_index == call.decision->op_index) {
      return Format("hint not obeyed [{}]", i + 1);
    }
  }
  if (!call.put_in) return ToString(call.decision->why);
  return call.decision->pass == "channels_last"
             ? "put in for NHWC"
             : Format("put in by {}", call.decision->pass);
}

const Candidate* NextBest(const PlanCall& call) {
  const Candidate* next = nullptr;
  const auto elsewhere = [&](const Candidate& candidate) {
    return candidate.place != call.decision->place;
  };
  for (const Candidate& candidate : call.decision->candidates()) {
    if (&candidate == call.chosen || !candidate.refusal.empty()) continue;
    const bool better = next == nullptr ||
                        elsewhere(*next) > elsewhere(candidate) ||
                        (elsewhere(*next) == elsewhere(candidate) &&
                         candidate.seconds < next->seconds);
    if (better) next = &candidate;
  }
  return next;
}

}  // namespace

std::vector<PlanCall> CallsOf(const Plan& plan) {
  std::map<int, size_t> moved;
  for (const Transfer& transfer : plan.transfers()) {
    moved[transfer.op_index] += transfer.bytes;
  }
  std::vector<PlanCall> calls;
  for (const Decision& decision : plan.decisions()) {
    PlanCall& call = calls.emplace_back();
    call.decision = &decision;
    const auto& candidates = decision.candidates();
    call.chosen = &*std::find_if(
        candidates.begin(), candidates.end(),
        [&](const Candidate& each) { return each.kernel == decision.kernel; });
    call.put_in = decision.covers.empty();
    call.number = call.put_in ? decision.op_index
                              : *std::min_element(decision.covers.begin(),
                                                  decision.covers.end());
    call.name = NameOf(decision);
    call.purpose = plan.op_descs()[decision.op_index].purpose;
    call.moved_bytes = moved[decision.op_index];
    call.next = NextBest(call);
    call.time = PredictedSeconds(plan, calls.size() - 1);
    call.why = WhyOf(plan, call);
    const BlockPlans* blocks = BlocksOf(plan, decision.op_index);
    const std::string trips = blocks == nullptr ? "" : blocks->TripsText();
    if (!trips.empty()) call.why = trips;
  }
  // What a pass put in serves the call after it.
  for (size_t i = calls.size(); i-- > 1;) {
    if (calls[i - 1].put_in) calls[i - 1].purpose = calls[i].purpose;
  }
  return calls;
}

std::string KernelName(const KernelDef& kernel) {
  if (kernel.key.library == OpKernelType().library) return kernel.variant;
  std::string name = kernel.key.library;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return name == kernel.variant ? name : Format("{}/{}", name, kernel.variant);
}

std::string HintFor(const PlanCall& call, const Candidate& candidate) {
  if (call.put_in) return "";
  const KernelDef& kernel = *candidate.kernel;
  const bool several = std::any_of(
      call.decision->candidates().begin(), call.decision->candidates().end(),
      [&](const Candidate& other) {
        return other.refusal.empty() &&
               other.kernel->variant == kernel.variant &&
               other.kernel->key.library != kernel.key.library;
      });
  std::string hint = Format("#{}: prefer ", call.number);
  if (candidate.place != call.decision->place) {
    hint += Format("place={}, ", candidate.place);
  }
  if (several) hint += Format("library={}, ", kernel.key.library);
  hint += Format("variant={}", kernel.variant);
  const Layout layout = call.decision->list->layout;
  if (layout != Layout::kAny) hint += Format(", layout={}", layout);
  return hint;
}

std::string ValueText(DType dtype, const DDim& dims) {
  std::string sizes;
  for (const int64_t size : dims) {
    sizes += Format("{}{}", sizes.empty() ? "" : ", ",
                    size < 0 ? "?" : std::to_string(size));
  }
  return Format("{}[{}]", dtype == DType::kFloat32 ? "" : Format("{} ", dtype),
                sizes);
}

}  // namespace sluice
