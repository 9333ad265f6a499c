#include "sluice/laboratory/what_if.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <string_view>
#include <utility>

#include "sluice/framework/algorithms/two_labels.h"
#include "sluice/framework/hints/kernel_hints.h"
#include "sluice/framework/inspect/plan_calls.h"
#include "sluice/laboratory/measure/profile.h"
#include "sluice/laboratory/measure/time_text.h"
#include "sluice/laboratory/prediction.h"
#include "sluice/platform/device.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

bool Fits(const FasterKernel& faster,
          const std::string& op,
          const KernelDef& kernel) {
  return (faster.op.empty() || faster.op == op) &&
         (faster.library.empty() || faster.library == kernel.key.library) &&
         (faster.variant.empty() || faster.variant == kernel.variant);
}

std::string Text(const FasterKernel& faster) {
  std::string text = faster.op.empty() ? "*" : faster.op;
  for (const std::string& word : {faster.library, faster.variant}) {
    if (!word.empty()) text += "/" + word;
  }
  return text;
}

// Time and kernel of an op at one place.
struct Choice {
  const KernelDef* kernel = nullptr;
  PlaceKey place;
  double seconds = kNever;
  bool measured = false;
};

void Check(const WhatIf& change) {
  const auto positive = [](double value) {
    return value > 0 && std::isfinite(value);
  };
  for (const FasterKernel& faster : change.faster) {
    // Costs further apart are lost in rounding, or infinite.
    constexpr double kMost = 1e6;
    SLUICE_ENFORCE(faster.factor >= 1 / kMost && faster.factor <= kMost,
                   ErrorCode::kInvalidArgument, "place.factor",
                   "what_if: {} cannot be {} times as fast; expected a number "
                   "from 1e-6 to 1e6",
                   Text(faster), faster.factor);
  }
  SLUICE_ENFORCE(change.link_bytes_per_second >= 1 &&
                     change.link_bytes_per_second <= 1e30 &&
                     change.link_seconds >= 0 && change.link_seconds <= 1e3,
                 ErrorCode::kInvalidArgument, "place.link",
                 "what_if: a link of {} bytes a second and {} seconds a copy; "
                 "expected 1 to 1e30, and 0 to 1000",
                 change.link_bytes_per_second, change.link_seconds);
  SLUICE_ENFORCE(positive(change.budget_seconds), ErrorCode::kInvalidArgument,
                 "place.budget",
                 "what_if: a budget of {} seconds; expected more than 0",
                 change.budget_seconds);
  SLUICE_ENFORCE(change.devices.size() <= 3, ErrorCode::kInvalidArgument,
                 "place.devices", "what_if: {} devices; expected at most 3",
                 change.devices.size());
  for (const PlaceKey device : change.devices) {
    SLUICE_ENFORCE(device.kind != PlaceKind::kCPU, ErrorCode::kInvalidArgument,
                   "place.device",
                   "what_if: {} is no device; the CPU is always there", device);
    DeviceManager::Instance().Get(device);  // raises NotFound
  }
}

class Placer {
 public:
  Placer(const Program& program,
         const Feeds& feeds,
         const Fetches& fetches,
         const WhatIf& change,
         const Scope* scope)
      : program_(program),
        feeds_(feeds),
        fetches_(fetches),
        change_(change),
        scope_(scope) {
    places_.push_back(CPUPlace());
    places_.insert(places_.end(), change.devices.begin(), change.devices.end());
  }

  Placement Run() {
    Check(change_);
    plan_ = Executor().Prepare(program_, feeds_, fetches_);
    plan_->RequireNoBlocks("a prediction");
    now_ = Predict(*plan_, feeds_, scope_,
                   {.budget_seconds = change_.budget_seconds / 2});
    MakeChoices();
    CheckFaster();
    FindValues();
    Assign();
    Describe();
    MeasureRuns();
    return std::move(result_);
  }

 private:
  const OpDesc& desc(size_t op) const {
    return plan_->op_descs()[plan_->ops()[op].op_index];
  }

  // Every op has one choice for each place; an impossible one is infinite.
  void MakeChoices() {
    choices_.assign(plan_->ops().size(), {});
    for (size_t op = 0; op < choices_.size(); ++op) {
      const Decision& decision = plan_->decisions()[op];
      // The slowdown by operands outside the cache.
      const double in_graph =
          now_.warm[op] > 0 ? now_.ops[op] / now_.warm[op] : 1;
      Choice choice;
      for (const Candidate& candidate : decision.candidates()) {
        const bool here = candidate.place == PlaceKey(CPUPlace());
        if (!candidate.refusal.empty() || !here) continue;
        const bool chosen = candidate.kernel == decision.kernel;
        Take({candidate.kernel, candidate.place,
              chosen ? now_.ops[op] : in_graph * candidate.seconds,
              chosen && now_.measured[op]},
             decision.op, &choice);
      }
      if (choice.kernel == nullptr) {
        choice = {decision.kernel, decision.place, now_.ops[op],
                  now_.measured[op]};
      }
      choices_[op].push_back(choice);
    }
    for (const PlaceKey device : change_.devices) {
      AddDevice(device);
    }
  }

  // Keeps the faster choice. A hypothetical speed-up is not a measurement.
  void Take(Choice candidate, const std::string& op, Choice* best) {
    for (const FasterKernel& faster : change_.faster) {
      if (!Fits(faster, op, *candidate.kernel)) continue;
      used_.insert(&faster);
      candidate.seconds /= faster.factor;
      candidate.measured = false;
    }
    if (candidate.seconds < best->seconds) *best = candidate;
  }

  // The kernels of a device are candidates only with a hint.
  void AddDevice(PlaceKey device) {
    const KernelHintGuard guard(Format("prefer place={}", device));
    const auto plan = Executor().Prepare(program_, feeds_, fetches_);
    const PlanPrediction prediction = Predict(
        *plan, feeds_, scope_,
        {.budget_seconds = change_.budget_seconds /
                           (4 * static_cast<double>(change_.devices.size()))});
    std::map<int, size_t> op_of_id;
    for (size_t op = 0; op < plan->ops().size(); ++op) {
      op_of_id[plan->ops()[op].op_index] = op;
    }
    bool some = false;
    for (size_t op = 0; op < choices_.size(); ++op) {
      Choice choice;
      const auto same = op_of_id.find(plan_->ops()[op].op_index);
      const Decision* decision =
          same == op_of_id.end() ? nullptr : &plan->decisions()[same->second];
      const bool alike =
          decision != nullptr &&
          decision->list->signature == plan_->decisions()[op].list->signature;
      for (size_t i = 0; alike && i < decision->candidates().size(); ++i) {
        const Candidate& candidate = decision->candidates()[i];
        if (!candidate.refusal.empty() || candidate.place != device) continue;
        const bool chosen = candidate.kernel == decision->kernel &&
                            prediction.measured[same->second];
        Take(
            {candidate.kernel, device,
             chosen ? prediction.ops[same->second] : candidate.seconds, chosen},
            decision->op, &choice);
      }
      some |= choice.kernel != nullptr;
      choices_[op].push_back(choice);
    }
    if (some) return;
    result_.notes.push_back(
        Format("no op of this plan has a kernel for {}", device));
  }

  void CheckFaster() const {
    for (const FasterKernel& faster : change_.faster) {
      if (used_.count(&faster) > 0) continue;
      std::set<std::string> known;
      for (const Decision& decision : plan_->decisions()) {
        for (const Candidate& candidate : decision.candidates()) {
          if (!candidate.refusal.empty()) continue;
          known.insert(Format("{}/{}/{}", decision.op,
                              candidate.kernel->key.library,
                              candidate.kernel->variant));
        }
      }
      std::string names;
      for (const std::string& name : known) {
        names += (names.empty() ? "" : ", ") + name;
      }
      Raise(ErrorCode::kNotFound, "place.faster",
            "what_if: no op of this plan could have the kernel {}; "
            "there are {}",
            Text(faster), names);
    }
  }

  double CopySeconds(size_t bytes) const {
    return change_.link_seconds +
           static_cast<double>(bytes) / change_.link_bytes_per_second;
  }

  // A value of the plan. From one device to another it is copied by way of the
  // CPU: it takes a copy for each place where it is but one.
  struct Value {
    size_t bytes = 0;
    bool on_host = false;       // it has to be on the CPU, too
    std::vector<size_t> ops{};  // that write or read it
  };

  void FindValues() {
    const std::set<std::string> fetched(plan_->fetch_names().begin(),
                                        plan_->fetch_names().end());
    std::map<std::string, size_t> values;  // the latest of each variable
    for (size_t op = 0; op < plan_->ops().size(); ++op) {
      const PlannedOp& planned = plan_->ops()[op];
      for (const int index : planned.inputs) {
        const Slot& slot = plan_->slots()[index];
        if (slot.kind == SlotKind::kShape) continue;
        const auto [value, added] =
            values.try_emplace(slot.var, values_.size());
        // Fed, or a parameter: on the host when the run begins.
        if (added) values_.push_back({.bytes = slot.bytes, .on_host = true});
        values_[value->second].ops.push_back(op);
      }
      for (const int index : planned.outputs) {
        const Slot& slot = plan_->slots()[index];
        values[slot.var] = values_.size();
        values_.push_back({.bytes = slot.bytes,
                           .on_host = fetched.count(slot.var) > 0 ||
                                      slot.kind == SlotKind::kShadow,
                           .ops = {op}});
      }
    }
  }

  double CopySecondsOf(const Value& value) const {
    std::set<size_t> places;
    if (value.on_host) places.insert(0);
    for (const size_t op : value.ops) {
      places.insert(place_of_[op]);
    }
    return static_cast<double>(places.size() - 1) * CopySeconds(value.bytes);
  }

  double Seconds() const {
    double seconds = 0;
    for (size_t op = 0; op < choices_.size(); ++op) {
      seconds += choices_[op][place_of_[op]].seconds;
    }
    for (const Value& value : values_) {
      seconds += CopySecondsOf(value);
    }
    return seconds;
  }

  // The place of each op: at first the CPU, then the best of two places for the
  // ops that are at one of them, for each two places, as long as that saves
  // time. For the CPU and one device that is the best of all (Boykov, Veksler
  // and Zabih, "Fast approximate energy minimization via graph cuts", 2001).
  void Assign() {
    place_of_.assign(choices_.size(), 0);
    double seconds = Seconds();
    for (double before = kNever; seconds < before;) {
      before = seconds;
      for (size_t second = 1; second < places_.size(); ++second) {
        for (size_t first = 0; first < second; ++first) {
          const std::vector<size_t> kept = place_of_;
          Swap(first, second);
          const double swapped = Seconds();
          // A difference by rounding is no gain.
          if (swapped < seconds) {
            seconds = swapped;
          } else {
            place_of_ = kept;
          }
        }
      }
    }
    double least = 0;
    for (const std::vector<Choice>& choices : choices_) {
      const auto faster = [](const Choice& a, const Choice& b) {
        return a.seconds < b.seconds;
      };
      least +=
          std::min_element(choices.begin(), choices.end(), faster)->seconds;
    }
    const bool exact = places_.size() <= 2;
    result_.gap = exact || seconds <= 0 ? 0 : (seconds - least) / seconds;
  }

  void Swap(size_t first, size_t second) {
    TwoLabels problem;
    const int at_first = problem.AddNode(0, kNever);
    std::map<size_t, int> nodes;
    for (size_t op = 0; op < choices_.size(); ++op) {
      if (place_of_[op] != first && place_of_[op] != second) continue;
      nodes[op] = problem.AddNode(choices_[op][first].seconds,
                                  choices_[op][second].seconds);
    }
    for (const Value& value : values_) {
      std::vector<int> group;
      for (const size_t op : value.ops) {
        const auto node = nodes.find(op);
        if (node != nodes.end()) group.push_back(node->second);
      }
      if (value.on_host && first == 0) group.push_back(at_first);
      problem.AddGroup(std::move(group), CopySeconds(value.bytes));
    }
    const std::vector<uint8_t> labels = problem.Solve();
    for (const auto& [op, node] : nodes) {
      place_of_[op] = labels[node] == 1 ? second : first;
    }
  }

  void Describe() {
    double then = 0;
    for (size_t op = 0; op < choices_.size(); ++op) {
      const Decision& decision = plan_->decisions()[op];
      const Choice& choice = choices_[op][place_of_[op]];
      PlacedOp placed;
      placed.op_index = NumberOf(decision);
      placed.op = NameOf(decision);
      placed.kernel_now = KernelName(*decision.kernel, decision.place);
      placed.kernel_then = KernelName(*choice.kernel, choice.place);
      placed.seconds_now = now_.ops[op];
      placed.seconds_then = choice.seconds;
      placed.measured_now = now_.measured[op];
      placed.measured_then = choice.measured;
      placed.changes =
          choice.kernel != decision.kernel || choice.place != decision.place;
      if (placed.changes) {
        result_.hints +=
            Format("#{}: require place={}, library={}, variant={}, layout={}\n",
                   decision.op_index, choice.place, choice.kernel->key.library,
                   choice.kernel->variant, decision.list->layout);
      }
      then += choice.seconds;
      result_.ops.push_back(std::move(placed));
    }
    for (const Value& value : values_) {
      result_.copies_then += CopySecondsOf(value);
    }
    result_.executor = now_.executor;
    result_.copies_now = now_.transfers;
    result_.predicted_now = now_.total();
    result_.predicted_then = then + result_.copies_then + result_.executor;
  }

  std::string WhyNotMeasured() const {
    if (!result_.asked) {
      return "no change was asked for: pass devices or faster kernels, such as "
             "--device fpga:0 or --faster conv2d/ONEDNN=2";
    }
    if (!change_.faster.empty()) return "a kernel is taken to be faster";
    if (change_.link_given) return "the link is not the one of this machine";
    if (result_.hints.empty()) return "no op changes its kernel";
    const auto emulated = std::ranges::find_if(
        place_of_, [&](size_t place) { return IsEmulated(places_[place]); });
    return emulated == place_of_.end()
               ? ""
               : Format("{} is emulated, so a run would take the CPU's time",
                        places_[*emulated]);
  }

  void MeasureRuns() {
    result_.asked = !change_.devices.empty() || !change_.faster.empty();
    result_.not_measured = WhyNotMeasured();
    std::vector<ProfiledPlan> plans = {{plan_.get(), &feeds_, scope_}};
    std::shared_ptr<const Plan> then;
    if (result_.not_measured.empty()) {
      const KernelHintGuard guard(result_.hints);
      then = Executor().Prepare(program_, feeds_, fetches_);
      plans.push_back({then.get(), &feeds_, scope_});
    }
    std::vector<RunProfile> profiles =
        ProfileTogether(plans, {.budget_seconds = change_.budget_seconds / 4});
    for (size_t op = 0; op < result_.ops.size(); ++op) {
      const int id = plan_->decisions()[op].op_index;
      result_.ops[op].seconds_in_run = profiles[0].ops[id].median;
    }
    result_.measured_now = std::move(profiles[0].run);
    if (then != nullptr) result_.measured_then = std::move(profiles[1].run);
  }

  const Program& program_;
  const Feeds& feeds_;
  const Fetches& fetches_;
  const WhatIf& change_;
  const Scope* scope_;
  std::vector<PlaceKey> places_;  // the CPU first
  std::shared_ptr<const Plan> plan_;
  PlanPrediction now_;
  std::vector<std::vector<Choice>> choices_;  // by op and place
  std::set<const FasterKernel*> used_;
  std::vector<Value> values_;
  std::vector<size_t> place_of_;  // of each op: an index into places_
  Placement result_;
};

}  // namespace

Placement PredictPlacement(const Program& program,
                           const Feeds& feeds,
                           const Fetches& fetches,
                           const WhatIf& change,
                           const Scope* scope) try {
  return Placer(program, feeds, fetches, change, scope).Run();
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
