#include "sluice/framework/plan/block_plans.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "sluice/framework/op/op_check.h"
#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/plan/block_values.h"
#include "sluice/framework/program/block_ops.h"
#include "sluice/platform/error.h"
#include "sluice/platform/place.h"

namespace sluice {

namespace {

// The counter of a loop, as long as a plan of the program has it.
std::shared_ptr<std::atomic<int64_t>> LastTrips(uint64_t program, int block) {
  static std::mutex mutex;
  static std::map<std::pair<uint64_t, int>, std::weak_ptr<std::atomic<int64_t>>>
      counters;
  const std::lock_guard lock(mutex);
  std::erase_if(counters, [](const auto& one) { return one.second.expired(); });
  auto& counter = counters[{program, block}];
  auto shared = counter.lock();
  if (shared == nullptr) {
    shared = std::make_shared<std::atomic<int64_t>>(0);
    counter = shared;
  }
  return shared;
}

using VarNames = std::vector<std::string>;

// Prepares the blocks of one op. Functions return false if a shape or an effect
// is not known yet, with the reason.
class BlockPlanner {
 public:
  BlockPlanner(const Program& program,
               const OpFacts& op,
               const PrepareBlock& prepare)
      : program_(program),
        op_(op),
        prepare_(prepare),
        inputs_(FlatInputs(*op.schema, op.desc)) {}

  bool PlanIf();
  bool PlanLoop(int64_t known_trips);
  std::shared_ptr<BlockPlans> Take() { return plans_; }
  const std::string& reason() const { return reason_; }

 private:
  // Data variables of a block that its loop sets, with their shapes.
  using OwnFeeds = std::vector<std::pair<std::string, DDim>>;

  bool Fail(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }
  int FindInput(const std::string& var) const {
    const auto at = std::find(inputs_.begin(), inputs_.end(), var);
    return at == inputs_.end() ? -1 : static_cast<int>(at - inputs_.begin());
  }
  // Flat index of the first variable of an argument; -1 if there is none.
  int FirstInput(std::string_view argument) const;
  bool AddBlock(int index,
                const VarNames& outputs,
                const OwnFeeds& own,
                std::vector<BlockValue>* values);
  const DDim& DimsOf(const BlockPlan& block, const BlockValue& value) const {
    return value.result < 0 ? op_.inputs[value.input]
                            : block.plan->result_slot(value.result).dims;
  }
  DType DTypeOf(const BlockPlan& block, const BlockValue& value) const {
    return value.result < 0 ? op_.input_dtypes[value.input]
                            : block.plan->result_slot(value.result).dtype;
  }
  bool AddSlices(const LoopBlock& loop, OwnFeeds* own, int64_t* trips);
  bool AddCarried(const LoopBlock& loop);
  bool AddStacked(const LoopBlock& loop, int64_t trips);
  static int FeedOf(const BlockPlan& block, const std::string& var);
  static std::string SourceOf(const BlockDesc& block, std::string var);

  const Program& program_;
  const OpFacts& op_;
  const PrepareBlock& prepare_;
  VarNames inputs_;
  std::shared_ptr<BlockPlans> plans_ = std::make_shared<BlockPlans>();
  std::string reason_;
};

int BlockPlanner::FirstInput(std::string_view argument) const {
  int first = 0;
  for (const ArgDef& def : op_.schema->inputs()) {
    const auto count = static_cast<int>(op_.desc.Input(def.name).size());
    if (def.name == argument) return count > 0 ? first : -1;
    first += count;
  }
  return -1;
}

// Returns the variable of which ops of the block make `var` a copy, `var`
// itself if no op writes it, or "" if one computes it.
std::string BlockPlanner::SourceOf(const BlockDesc& block, std::string var) {
  for (auto op = block.ops.rbegin(); op != block.ops.rend(); ++op) {
    const bool writes = std::ranges::any_of(op->outputs, [&](auto& output) {
      return std::ranges::find(output.second, var) != output.second.end();
    });
    if (!writes) continue;
    const OpSchema& schema = Registry::Global().Schema(op->type);
    const bool copies = schema.elementwise() && op->inputs.size() == 1 &&
                        op->inputs[0].second.size() == 1 &&
                        !schema.outputs()[0].aliases.empty();
    if (!copies) return "";
    var = op->inputs[0].second[0];
  }
  return var;
}

int BlockPlanner::FeedOf(const BlockPlan& block, const std::string& var) {
  if (block.plan == nullptr) return -1;
  const auto& specs = block.plan->feed_specs();
  const auto at = std::find_if(specs.begin(), specs.end(),
                               [&](auto& spec) { return spec.name == var; });
  return at == specs.end() ? -1 : static_cast<int>(at - specs.begin());
}

bool BlockPlanner::AddBlock(int index,
                            const VarNames& outputs,
                            const OwnFeeds& own,
                            std::vector<BlockValue>* values) {
  BlockPlan block;
  block.block = index;
  const auto program = program_.BlockProgram(index);
  VarNames fetches;
  for (const std::string& output : outputs) {
    BlockValue& value = values->emplace_back();
    if (output.empty()) continue;
    if (program->block().FindVar(output) == nullptr) {
      value.input = FindInput(output);
      continue;
    }
    const auto at = std::find(fetches.begin(), fetches.end(), output);
    value.result = static_cast<int>(at - fetches.begin());
    if (at == fetches.end()) fetches.push_back(output);
  }
  std::vector<FeedSpec> feeds;
  for (const VarDesc& var : program->block().vars()) {
    if (!var.is_data) continue;
    FeedSpec& feed = feeds.emplace_back();
    feed.name = var.name;
    feed.dtype = var.dtype;
    feed.place = CPUPlace();
    feed.handed_on = true;
    const int input = block.feeds.emplace_back(FindInput(var.name));
    const auto set = std::find_if(own.begin(), own.end(), [&](auto& each) {
      return each.first == var.name;
    });
    if (set != own.end()) block.feeds.back() = -1;
    feed.dims = set != own.end() ? set->second : op_.inputs[input];
    if (input >= 0 && set == own.end()) feed.dtype = op_.input_dtypes[input];
  }
  if (!fetches.empty()) {
    block.plan = prepare_(*program, std::move(feeds), fetches);
    if (!block.plan->whole()) {
      return Fail(Format("in block {}, {}", index, block.plan->rest().reason));
    }
    if (block.plan->updates()) {
      return Fail(Format("block {} updates variables", index));
    }
    if (!block.plan->hooks().empty()) {
      return Fail(Format("block {} exchanges data with others", index));
    }
    for (size_t i = 0; i < fetches.size(); ++i) {
      if (block.plan->result_slot(i).kind == SlotKind::kLate) {
        return Fail(Format("in block {}, the shape of {} depends on data",
                           index, fetches[i]));
      }
    }
  }
  plans_->blocks.push_back(std::move(block));
  return true;
}

bool BlockPlanner::PlanIf() {
  const IfBlocks blocks = IfBlocksOf(op_.desc);
  plans_->condition = FirstInput("Cond");
  if (!AddBlock(blocks.then_block, blocks.then_outputs, {},
                &plans_->then_outputs) ||
      !AddBlock(blocks.else_block, blocks.else_outputs, {},
                &plans_->else_outputs)) {
    return false;
  }
  for (size_t i = 0; i < blocks.then_outputs.size(); ++i) {
    const DDim& a = DimsOf(plans_->blocks[0], plans_->then_outputs[i]);
    const DDim& b = DimsOf(plans_->blocks[1], plans_->else_outputs[i]);
    if (a != b) {
      return Fail(
          Format("output {} has shape {} from one block and {} from "
                 "the other",
                 i, a, b));
    }
    plans_->outputs.push_back(a);
    plans_->output_dtypes.push_back(
        DTypeOf(plans_->blocks[0], plans_->then_outputs[i]));
  }
  return true;
}

// Sets `trips` to the number of elements of the sequences, if there are any.
bool BlockPlanner::AddSlices(const LoopBlock& loop,
                             OwnFeeds* own,
                             int64_t* trips) {
  for (size_t i = 0; i < loop.slices.size(); ++i) {
    const DDim& whole = op_.inputs[plans_->first_sequence + i];
    const int64_t at = loop.sequence_axes.empty() ? 0 : loop.sequence_axes[i];
    const auto axis = static_cast<int>(at < 0 ? at + whole.rank() : at);
    // The run raises for these.
    if (axis < 0 || axis >= whole.rank() ||
        (*trips >= 0 && whole[axis] != *trips)) {
      return Fail("its sequences do not fit each other");
    }
    *trips = whole[axis];
    DDim slice;
    for (int d = 0; d < whole.rank(); ++d) {
      if (d != axis) slice.InsertDim(slice.rank(), whole[d]);
    }
    own->emplace_back(loop.slices[i], slice);
  }
  return true;
}

// Adds the outputs that one iteration hands to the next.
bool BlockPlanner::AddCarried(const LoopBlock& loop) {
  const BlockPlan& block = plans_->blocks[0];
  for (size_t i = 0; i < loop.carried.size(); ++i) {
    plans_->carried_feeds.push_back(FeedOf(block, loop.carried[i]));
    const DDim& first = op_.inputs[plans_->first_carried + i];
    const DDim& next = DimsOf(block, plans_->carried_out[i]);
    if (first != next) {
      return Fail(
          Format("{} has shape {} in the first iteration and {} after "
                 "it",
                 loop.carried[i], first, next));
    }
    plans_->outputs.push_back(first);
    plans_->output_dtypes.push_back(DTypeOf(block, plans_->carried_out[i]));
  }
  return true;
}

// Adds the outputs that have a slice of each iteration. `trips` is the number
// of iterations if nothing ends the loop before; -1 means unknown.
bool BlockPlanner::AddStacked(const LoopBlock& loop, int64_t trips) {
  const bool runs_all = plans_->max_trips < 0 && plans_->condition < 0 &&
                        loop.condition_out.empty() && trips >= 0 &&
                        trips <= loop.limit;
  const bool bounded = loop.max_trips > 0;
  if (bounded) trips = loop.max_trips;
  for (size_t i = 0; i < loop.stacked.size(); ++i) {
    const VarDesc* var = program_.blocks()[loop.block].FindVar(loop.stacked[i]);
    plans_->stacked_vars.push_back(
        var == nullptr ? program_.FindVar(loop.stacked[i]) : *var);
    const int64_t axis = loop.stacked_axes.empty() ? 0 : loop.stacked_axes[i];
    const DDim& each = DimsOf(plans_->blocks[0], plans_->stacked[i]);
    if (axis < -each.rank() - 1 || axis > each.rank()) {
      return Fail("an axis to stack along does not exist");
    }
    DDim dims = StackedDims(each, axis, trips);
    const auto at = static_cast<int>(axis < 0 ? axis + dims.rank() : axis);
    if (!runs_all && !bounded) dims[at] = kUnknownDim;
    plans_->outputs.push_back(dims);
    plans_->output_dtypes.push_back(
        DTypeOf(plans_->blocks[0], plans_->stacked[i]));
  }
  if (bounded) {
    plans_->outputs.push_back({1});
    plans_->output_dtypes.push_back(DType::kInt64);
  }
  return true;
}

bool BlockPlanner::PlanLoop(int64_t known_trips) {
  const LoopBlock loop = LoopBlockOf(op_.desc);
  const BlockDesc& desc = program_.blocks()[loop.block];
  plans_->max_trips = FirstInput("MaxTrips");
  plans_->condition = FirstInput("Cond");
  plans_->first_carried = FirstInput("Carried");
  plans_->first_sequence = FirstInput("Sequences");
  OwnFeeds own;
  const auto add_scalar = [&](const std::string& var) {
    if (var.empty()) return;
    const DDim& dims = desc.FindVar(var)->dims;
    own.emplace_back(
        var, dims.rank_known() && dims.rank() == 1 ? DDim({1}) : DDim());
  };
  add_scalar(loop.iteration);
  add_scalar(loop.condition_in);
  for (size_t i = 0; i < loop.carried.size(); ++i) {
    own.emplace_back(loop.carried[i], op_.inputs[plans_->first_carried + i]);
  }
  int64_t trips = -1;
  if (!AddSlices(loop, &own, &trips)) return false;

  VarNames outputs = loop.carried_out;
  const auto carried = static_cast<ptrdiff_t>(loop.carried.size());
  for (int i = 0; i < carried; ++i) {
    if (SourceOf(desc, outputs[i]) == loop.carried[i]) outputs[i].clear();
  }
  outputs.insert(outputs.end(), loop.stacked.begin(), loop.stacked.end());
  outputs.push_back(loop.condition_out);
  std::vector<BlockValue> values;
  if (!AddBlock(loop.block, outputs, own, &values)) return false;
  for (int i = 0; i < carried; ++i) {  // those that are left unchanged
    if (outputs[i].empty()) values[i].input = plans_->first_carried + i;
  }
  plans_->carried_out.assign(values.begin(), values.begin() + carried);
  plans_->stacked.assign(values.begin() + carried, values.end() - 1);
  plans_->condition_out = values.back();

  const BlockPlan& block = plans_->blocks[0];
  plans_->iteration_feed = FeedOf(block, loop.iteration);
  plans_->condition_feed = FeedOf(block, loop.condition_in);
  if (!AddCarried(loop)) return false;
  for (const std::string& slice : loop.slices) {
    plans_->slice_feeds.push_back(FeedOf(block, slice));
  }
  const bool may_end = !loop.condition_out.empty() ||
                       (plans_->max_trips >= 0 && known_trips < 0);
  plans_->trips = may_end           ? -1
                  : known_trips < 0 ? trips
                  : trips < 0       ? known_trips
                                    : std::min(trips, known_trips);
  plans_->last_trips = LastTrips(program_.uid(), loop.block);
  return AddStacked(loop, trips);
}

}  // namespace

double BlockPlans::PredictedSeconds() const {
  double seconds = 0;
  for (const BlockPlan& block : blocks) {
    if (block.plan == nullptr) continue;
    for (size_t op = 0; op < block.plan->decisions().size(); ++op) {
      seconds += sluice::PredictedSeconds(*block.plan, op);
    }
  }
  if (last_trips == nullptr) return seconds;
  const int64_t last = last_trips->load(std::memory_order_relaxed);
  return seconds *
         static_cast<double>(trips >= 0 ? trips : std::max<int64_t>(last, 1));
}

std::string BlockPlans::TripsText() const {
  if (last_trips == nullptr) return "";
  const int64_t last = last_trips->load(std::memory_order_relaxed);
  return trips >= 0 ? Format("{} trips", trips)
         : last > 0 ? Format("{} trips, as last run", last)
                    : "trips unknown, 1 assumed";
}

const BlockPlans* BlocksOf(const Plan& plan, int op_index) {
  for (const auto& [op, blocks] : plan.blocks()) {
    if (op == op_index) return blocks.get();
  }
  return nullptr;
}

double PredictedSeconds(const Plan& plan, size_t op) {
  const Decision& decision = plan.decisions()[op];
  if (const BlockPlans* blocks = BlocksOf(plan, decision.op_index)) {
    return blocks->PredictedSeconds();
  }
  for (const Candidate& candidate : decision.candidates()) {
    if (candidate.kernel == decision.kernel &&
        candidate.place == decision.place) {
      return candidate.seconds;
    }
  }
  return 0;
}

std::shared_ptr<const BlockPlans> PlanBlocks(const Program& program,
                                             const OpFacts& op,
                                             const PrepareBlock& prepare,
                                             int64_t trips,
                                             std::string* reason) {
  BlockPlanner planner(program, op, prepare);
  const bool planned = op.schema->role() == OpRole::kIf
                           ? planner.PlanIf()
                           : planner.PlanLoop(trips);
  if (!planned) *reason = planner.reason();
  return planned ? planner.Take() : nullptr;
}

}  // namespace sluice
