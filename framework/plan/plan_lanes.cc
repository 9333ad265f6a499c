// PlanBuilder's functions that distribute the kernels of a place over several
// queues (PlanOptions::queues).
#include <algorithm>
#include <cmath>
#include <map>

#include "sluice/framework/plan/plan_builder.h"

namespace sluice {

namespace {

// Chooses a lane, an index of the place's queues, for each kernel of a device.
class LaneChooser {
 public:
  explicit LaneChooser(int most) : most_(static_cast<size_t>(most)) {}

  // Must be called for the ops in order. Returns the lane where the op can
  // begin first, by predicted times; if there are several, prefers that of the
  // input that is ready last. Returns 0 for an op of the host.
  int Choose(const OpDesc& op, const Candidate& choice) {
    if (most_ == 1) return 0;
    Made latest;
    for (const auto& [argument, vars] : op.inputs) {
      for (const std::string& var : vars) {
        const auto found = made_.find(var);
        if (found == made_.end() || found->second.at < latest.at) continue;
        latest = found->second;
      }
    }
    Made own = {latest.at, choice.place, 0};
    if (choice.place.kind != PlaceKind::kCPU) {
      auto& free_at = free_at_[choice.place];
      const bool same = latest.at > 0 && latest.place == choice.place;
      own.lane = Pick(latest.at, same ? latest.lane : 0, &free_at);
      double& lane_free_at = free_at[static_cast<size_t>(own.lane)];
      own.at = std::max(latest.at, lane_free_at) + SecondsOf(choice);
      lane_free_at = own.at;
    } else {
      own.at += SecondsOf(choice);
    }
    for (const auto& [argument, vars] : op.outputs) {
      for (const std::string& var : vars) {
        made_[var] = own;
      }
    }
    return own.lane;
  }

 private:
  // When and where a value is computed.
  struct Made {
    double at = 0;
    PlaceKey place;
    int lane = 0;
  };

  static double SecondsOf(const Candidate& choice) {
    // Every op takes some time, whatever its estimate.
    constexpr double kLeast = 1e-6;
    return std::isfinite(choice.seconds) ? std::max(choice.seconds, kLeast)
                                         : kLeast;
  }

  int Pick(double ready, int liked, std::vector<double>* free_at) const {
    const auto is_free = [&](double at) { return at <= ready; };
    const auto lane = static_cast<size_t>(liked);
    if (lane < free_at->size() && is_free((*free_at)[lane])) return liked;
    const auto first = std::min_element(free_at->begin(), free_at->end());
    const bool waits = first == free_at->end() || !is_free(*first);
    if (!waits || free_at->size() == most_) {
      return static_cast<int>(first - free_at->begin());
    }
    free_at->push_back(0);
    return static_cast<int>(free_at->size()) - 1;
  }

  size_t most_;
  std::map<PlaceKey, std::vector<double>> free_at_;  // by lane
  std::unordered_map<std::string, Made> made_;       // by variable
};

}  // namespace

void PlanBuilder::AssignLanes() {
  LaneChooser chooser(plan_->options_.queues);
  std::map<PlaceKey, std::vector<int>> last_on;
  for (const int id : graph_->order()) {
    const PreparedOp& op = graph_->op(id);
    const PlaceKey place = op.choice().place;
    // The memory of an op with a queue of its own is ordered with the kernels
    // of the first lane.
    const bool own_queue = op.choice().kernel->has_own_queue();
    const int lane = own_queue ? 0 : chooser.Choose(op.desc, op.choice());
    if (place.kind == PlaceKind::kCPU) continue;
    auto& to_come = ops_to_come_[place];
    auto& last = last_on[place];
    const auto lanes = std::max(to_come.size(), static_cast<size_t>(lane) + 1);
    to_come.resize(lanes, 0);
    last.resize(lanes, -1);
    ++to_come[static_cast<size_t>(lane)];
    if (own_queue) continue;
    lanes_[id] = {lane, last[static_cast<size_t>(lane)]};
    last[static_cast<size_t>(lane)] = id;
  }
  for (const auto& [place, to_come] : ops_to_come_) {
    if (to_come.size() == 1) continue;
    choice_.notes.push_back(
        Format("the ops at {} run on {} queues", place, to_come.size()));
  }
}

int PlanBuilder::LaneOf(int op_index) const {
  const auto laned = lanes_.find(op_index);
  return laned == lanes_.end() ? 0 : laned->second.lane;
}

// Ends an emitted op on its lane. Lanes whose next op reads its outputs wait
// for it now: later they would also wait for the ops after it.
void PlanBuilder::LeaveLane(const PlannedOp& op) {
  const auto lanes = ops_to_come_.find(op.place);
  if (lanes == ops_to_come_.end()) return;
  const int own = LaneOf(op.op_index);
  --lanes->second[static_cast<size_t>(own)];
  if (lanes->second.size() == 1 || lanes_.count(op.op_index) == 0) return;
  for (const int slot : op.outputs) {
    for (const int reader : graph_->Readers(plan_->slots_[slot].var)) {
      const auto laned = lanes_.find(reader);
      if (laned == lanes_.end() || laned->second.lane == own ||
          graph_->op(reader).choice().place != op.place ||
          !graph_->Precedes(op.op_index, reader)) {
        continue;
      }
      const int before = laned->second.before;
      if (before >= 0 && !graph_->Precedes(before, op.op_index)) continue;
      OrderBehind(Queue(op.place, QueueRole::kKernels, laned->second.lane),
                  slot);
    }
  }
  ReleaseAll(op.place);
}

// Notes that the next instruction, on `queue`, uses the slot's memory. Other
// queues may write to it after they have waited for that instruction.
void PlanBuilder::Use(int queue, int slot) {
  Touch(slot);
  if (queue < 0) return;
  const QueueSpec& spec = plan_->queues_[queue];
  const auto lanes = ops_to_come_.find(spec.place);
  const bool alone = lanes == ops_to_come_.end() || lanes->second.size() == 1;
  if (spec.runs_kernels() && alone) return;
  queues_[queue].used.emplace_back(slot, Now());
}

// Releases memory that queues at a place used, for its kernels, once all lanes
// with remaining ops have waited for that use.
void PlanBuilder::ReleaseAll(PlaceKey place) {
  const std::vector<int>& to_come = ops_to_come_[place];
  const auto busy = std::count_if(to_come.begin(), to_come.end(),
                                  [](int ops) { return ops > 0; });
  for (size_t i = 0; i < queues_.size(); ++i) {
    auto& used = queues_[i].used;
    if (used.empty() || plan_->queues_[i].place != place) continue;
    int waited_for = Now();
    auto seen = busy;
    for (size_t other = 0; other < queues_.size(); ++other) {
      const QueueSpec& spec = plan_->queues_[other];
      if (spec.place != place || !spec.runs_kernels() ||
          to_come[static_cast<size_t>(spec.lane)] == 0) {
        continue;
      }
      --seen;
      if (other == i) continue;
      waited_for = std::min(waited_for, queues_[other].waited_for[i]);
    }
    // A lane without a queue has not waited for anything yet.
    if (seen > 0) continue;
    for (; !used.empty() && used.front().second < waited_for;
         used.pop_front()) {
      Touch(used.front().first);
    }
  }
}

}  // namespace sluice
