#include "sluice/framework/inspect/plan_calls.h"

#include <algorithm>
#include <map>

#include "sluice/framework/inspect/units.h"
#include "sluice/framework/plan/block_plans.h"
#include "sluice/platform/device.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

bool IsFaster(const Candidate* next, const PlanCall& call) {
  return next != nullptr && 1.05 * next->seconds < call.seconds();
}

std::string WhyOf(const Plan& plan, const PlanCall& call) {
  const auto& notes = plan.hint_notes();
  for (size_t i = 0; i < notes.size(); ++i) {
    if (notes[i].op_index == call.decision->op_index) {
      return Format("hint not obeyed [{}]", i + 1);
    }
  }
  if (!call.put_in) {
    const bool kept = call.decision->why.reason == Reason::kKeptAtPlace;
    if (kept && IsFaster(call.next, call)) {
      return Format("{} would be {} faster", call.next->place,
                    TimesAsLong(call.seconds() / call.next->seconds));
    }
    return ToString(call.decision->why);
  }
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

std::string NameOf(const Decision& decision) {
  return decision.covers.empty() ? decision.op : CallName(decision.covered_ops);
}

bool IsEmulated(PlaceKey place) {
  return DeviceManager::Instance().Get(place).is_emulated();
}

std::string PlacesText(const Plan& plan) {
  std::string text;
  std::vector<PlaceKey> places = {plan.place()};
  for (const Decision& decision : plan.decisions()) {
    places.push_back(decision.place);
  }
  for (size_t i = 0; i < places.size(); ++i) {
    const auto here = places.begin() + static_cast<ptrdiff_t>(i);
    if (std::find(places.begin(), here, *here) != here) continue;
    text += Format("{}{}{}", i == 0 ? "" : ", ", *here,
                   IsEmulated(*here) ? " (emulated)" : "");
  }
  return text;
}

int NumberOf(const Decision& decision) {
  const auto& covers = decision.covers;
  return covers.empty() ? decision.op_index
                        : *std::min_element(covers.begin(), covers.end());
}

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
    call.number = NumberOf(decision);
    call.name = NameOf(decision);
    call.desc = &plan.op_descs()[decision.op_index];
    call.purpose = call.desc->purpose;
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

std::string KernelName(const KernelDef& kernel, PlaceKey place, PlaceKey here) {
  const std::string name = KernelName(kernel);
  return place == here ? name : Format("{} at {}", name, place);
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
