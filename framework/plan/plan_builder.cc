#include "sluice/framework/plan/plan_builder.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "sluice/framework/choice/hint_names.h"
#include "sluice/framework/op/op_check.h"
#include "sluice/framework/plan/arena_pool.h"
#include "sluice/framework/plan/passes.h"
#include "sluice/framework/plan/plan_resize.h"
#include "sluice/framework/plan/run_hooks.h"
#include "sluice/platform/device.h"
#include "sluice/platform/error.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {

PlanBuilder::PlanBuilder(const Program& program,
                         std::vector<FeedSpec> feeds,
                         std::vector<std::string> fetches,
                         PlaceKey place,
                         PlanOptions options,
                         std::shared_ptr<ArenaPool> pool)
    : program_(program),
      registry_(Registry::Global()),
      plan_(new Plan()),
      hints_(ActiveKernelHints(program.hints(), registry_.ModuleLibraries())) {
  plan_->place_ = place;
  plan_->num_threads_ = NumThreads();
  plan_->options_ = options;
  plan_->pool_ =
      pool == nullptr ? std::make_shared<ArenaPool>() : std::move(pool);
  plan_->feeds_ = std::move(feeds);
  plan_->fetch_names_ = std::move(fetches);
}

std::shared_ptr<const Plan> PlanBuilder::Build() {
  MakeGraph();
  AddFeeds();
  const auto for_each_op = [this](auto&& work) {
    for (const int id : graph_->order()) {
      const OpDesc& op = graph_->op(id).desc;
      try {
        work(id);
      } catch (Error& error) {
        error.AddContext(Format("in op {} ({})", id, op.type));
        error.AddContext(DescribeLocation(op.location));
        throw;
      }
    }
  };
  // All kernels first: the home of a parameter is the place of its last writer.
  for_each_op([this](int id) { graph_->Choose(id); });
  StartEarly();
  MakeContiguous();
  AssignLanes();
  for_each_op([this](int id) { AddOp(id); });
  AddShadows();
  AddFetches();
  FinishQueues();
  NoteFeedAliases();
  LayOutMemory(plan_.get());
  AddHooks();
  NoteUnusedHints();
  plan_->op_descs_ = OpDescs(graph_->TakeDescs());
  plan_->choice_ = std::make_shared<const PlanChoice>(std::move(choice_));
  plan_->commit_ = PlanCommit(*plan_);
  PlanResizer::Allow(plan_.get(), std::move(size_rules_));
  return std::move(plan_);
}

void PlanBuilder::MakeGraph() {
  CheckHintNames(hints_, registry_);
  LoadDevices(&hints_);
  std::map<int, std::vector<KernelHint>> op_hints;
  const auto& ops = program_.block().ops;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].hint.empty()) continue;
    auto& own = op_hints[static_cast<int>(i)];
    auto hints = ParseKernelHints(ops[i].hint, "op attribute");
    CheckHintNamesOf(ops[i], static_cast<int>(i), hints, registry_);
    for (KernelHint& hint : hints) {
      if (hint.Matches(ops[i], static_cast<int>(i))) {
        own.push_back(std::move(hint));
      }
    }
    LoadDevices(&own);
  }
  std::vector<std::string> pass_remarks = RewriteGraph(op_hints);
  for (const int id : graph_->not_needed()) {
    plan_->idle_ops_.push_back(id);
    choice_.notes.push_back(
        Format("op {} ({}) does not run: nothing that is "
               "fetched or persistable needs it",
               id, program_.block().ops[id].type));
  }
  for (const int id : graph_->unread()) {
    plan_->idle_ops_.push_back(id);
    choice_.notes.push_back(
        Format("op {} ({}) does not run: what is read of it, values or only "
               "shapes, was known when the plan was prepared",
               id, graph_->Written(id).type));
  }
  plan_->blocks_ = graph_->blocks();
  plan_->rest_ = graph_->rest();
  plan_->result_names_ = graph_->results();
  plan_->whole_ =
      plan_->result_names_ == plan_->fetch_names_ && !plan_->rest_.updates;
  for (const std::string& remark : graph_->operand_remarks()) {
    choice_.notes.push_back(remark);
  }
  for (FeedSpec& feed : plan_->feeds_) {
    const bool used = graph_->used_feeds().count(feed.name) > 0;
    feed.value = used ? feed.value.CopyTo(CPUPlace()) : Tensor();
  }
  choice_.notes.insert(choice_.notes.end(), pass_remarks.begin(),
                       pass_remarks.end());
}

// Makes the graph and runs the passes; returns their remarks. Repeats both if
// hints can only be obeyed by ops that passes leave apart, and once more if
// some preferences cannot be obeyed even so.
std::vector<std::string> PlanBuilder::RewriteGraph(
    const std::map<int, std::vector<KernelHint>>& op_hints) {
  const auto prepare_block = [this](const Program& block,
                                    std::vector<FeedSpec> feeds,
                                    std::vector<std::string> fetches) {
    return PlanBuilder(block, std::move(feeds), std::move(fetches),
                       plan_->place_, plan_->options_, plan_->pool_)
        .Build();
  };
  for (;;) {
    graph_ = std::make_unique<Graph>(program_, plan_->feeds_,
                                     plan_->fetch_names_, plan_->place_, hints_,
                                     op_hints, &vetoes_, prepare_block);
    const bool fixed = !hints_.empty() || !op_hints.empty() ||
                       graph_->chosen_by_sizes() || !HasOpenFeed();
    size_rules_ =
        fixed ? nullptr : std::make_unique<SizeRules>(*graph_, plan_->feeds_);
    std::vector<std::string> remarks;
    if (plan_->options_.passes) remarks = RunPasses(graph_.get());
    bool again = false;
    for (const auto& hint : graph_->EndPasses()) {
      if (vetoes_.erase(hint.first) > 0) {
        again |= given_up_.insert(hint).second;
      } else if (given_up_.count(hint.first) == 0) {
        again |= vetoes_.insert(hint).second;
      }
    }
    if (!again) return remarks;
  }
}

// Whether the program leaves a size of a feed open.
bool PlanBuilder::HasOpenFeed() const {
  return std::any_of(plan_->feeds_.begin(), plan_->feeds_.end(),
                     [&](const FeedSpec& feed) {
                       return !program_.FindVar(feed.name).dims.known();
                     });
}

// Loads devices that hints name. A missing device cannot be required; a
// preference for it is ignored.
void PlanBuilder::LoadDevices(std::vector<KernelHint>* hints) {
  std::vector<KernelHint> usable;
  for (KernelHint& hint : *hints) {
    try {
      if (!hint.place.empty() && hint.Wants()) {
        DeviceManager::Instance().Get(ParsePlaceKey(hint.place));
      }
      usable.push_back(std::move(hint));
    } catch (Error& error) {
      const std::string reason = error.what();
      error.AddContext(Format("asked for by hint {}", hint));
      if (hint.mode == HintMode::kRequire ||
          error.code() == ErrorCode::kInvalidArgument) {
        throw;
      }
      choice_.notes.push_back(Format("hint {} is left out: {}: {}", hint,
                                     ToString(error.code()), reason));
    }
  }
  *hints = std::move(usable);
}

void PlanBuilder::AddFeeds() {
  for (const FeedSpec& feed : plan_->feeds_) {
    Slot slot;
    slot.kind = SlotKind::kFeed;
    slot.var = feed.name;
    slot.place = feed.place;
    slot.dtype = feed.dtype;
    slot.dims = feed.dims;
    const int index = AddSlot(std::move(slot));
    values_[feed.name] = {feed.dims, feed.dtype, {index}};
    plan_->feed_slots_.push_back(index);
  }
}

// Adds a slot for the scope's tensor at the beginning of a run.
int PlanBuilder::AddPersistable(const std::string& var, PlaceKey place) {
  const VarDesc& desc = program_.FindVar(var);
  Slot slot;
  slot.kind = SlotKind::kPersistable;
  slot.var = var;
  slot.place = place;
  slot.dtype = desc.dtype;
  slot.dims = desc.dims;
  const int index = AddSlot(std::move(slot));
  Value& value = values_[var];
  value.dims = desc.dims;
  value.dtype = desc.dtype;
  value.slots.push_back(index);
  plan_->persistable_slots_.push_back(index);
  return index;
}

// Whether no run of the plan changes a value. It can then be kept wherever it
// is read, and no run has to copy it.
bool PlanBuilder::IsKept(const std::string& var) const {
  const auto known = values_.find(var);
  const bool made =
      known != values_.end() &&
      plan_->slots_[known->second.slots.front()].kind != SlotKind::kPersistable;
  return !made && graph_->IsConstant(var);
}

// The place of a persistable between runs is that of its last writer.
PlaceKey PlanBuilder::HomeOf(const std::string& var) {
  const int writer = graph_->LastWriter(var);
  return writer < 0 ? plan_->place_ : graph_->Choose(writer).choice().place;
}

PlanBuilder::Value& PlanBuilder::UseValue(const std::string& var) {
  const auto known = values_.find(var);
  if (known != values_.end()) return known->second;
  // The graph has checked that a value neither fed nor computed persists.
  AddPersistable(var, HomeOf(var));
  return values_[var];
}

// Adds, for a fused op, why its single ops do not obey a hint.
void PlanBuilder::AddReasonsApart(const PreparedOp& op,
                                  std::vector<HintAnswer>* answers) const {
  if (op.covers.size() < 2) return;
  for (const int covered : op.covers) {
    for (HintAnswer& answer : *answers) {
      for (const auto& [key, why_not] : given_up_) {
        const bool same = key.first == covered && !answer.obeyed &&
                          answer.hint.ends_with(": " + key.second);
        if (!same || why_not.text.empty()) continue;
        answer.why_not += Format("; op {} ({}) by itself: {}", covered,
                                 graph_->Written(covered).type, why_not.text);
        answer.known_wrong = answer.known_wrong || why_not.known_wrong;
      }
    }
  }
}

// Returns the decision for an op, with the bytes that its kernel must wait for.
Decision PlanBuilder::Decide(const PreparedOp& op) {
  Decision decision;
  decision.op_index = op.id;
  decision.op = op.desc.type;
  decision.kernel = op.choice().kernel;
  decision.place = op.choice().place;
  decision.why = op.why;
  decision.reason = op.reason;
  decision.covers = op.covers;
  for (const int covered : op.covers) {
    decision.covered_ops.push_back(graph_->Written(covered).type);
  }
  decision.pass = op.pass;
  decision.answers = AnswerHints(op);
  AddReasonsApart(op, &decision.answers);
  decision.list = op.list;
  std::vector<PlaceKey> places;
  for (const Candidate& candidate : op.list->candidates) {
    if (!candidate.refusal.empty()) continue;
    if (std::find(places.begin(), places.end(), candidate.place) ==
        places.end()) {
      places.push_back(candidate.place);
    }
  }
  for (const PlaceKey place : places) {
    int64_t bytes = 0;
    size_t flat = 0;
    for (const ArgDef& def : op.schema->inputs()) {
      for (const std::string& var : op.desc.Input(def.name)) {
        const size_t index = flat++;
        if (def.traits.host || def.traits.shape_only || IsKept(var)) continue;
        const auto& slots = UseValue(var).slots;
        if (std::none_of(slots.begin(), slots.end(), [&](int slot) {
              return plan_->slots_[slot].place == place;
            })) {
          bytes += op.inputs[index].numel() *
                   static_cast<int64_t>(SizeOf(op.input_dtypes[index]));
        }
      }
    }
    if (bytes > 0) decision.transfers.emplace_back(place, bytes);
  }
  if (op.fell_back) {
    decision.reason += Format("; {} input bytes move",
                              decision.transfer_bytes(decision.place));
  }
  return decision;
}

void PlanBuilder::AddHooks() {
  for (RunHooks* hooks : ActiveRunHooks()) {
    CallHooks(hooks->name(), [&] {
      auto own = hooks->Prepared(program_, *graph_, &choice_.notes);
      if (own != nullptr) plan_->hooks_.emplace_back(hooks->name(), own);
    });
  }
}

void PlanBuilder::AddOp(int op_index) {
  PreparedOp& op = graph_->Choose(op_index);
  Decision decision = Decide(op);
  PlannedOp planned;
  planned.op_index = op_index;
  planned.kernel = std::move(op.kernel);
  planned.scratch_bytes = op.scratch_bytes;
  plan_->random_ |= op.schema->random();
  planned.place = decision.place;
  planned.device =
      decision.kernel->has_own_queue()
          ? AddQueue({.place = decision.place,
                      .role = QueueRole::kOwn,
                      .make = decision.kernel->make_queue})
          : Queue(decision.place, QueueRole::kKernels, LaneOf(op_index));
  BindInputs(op, &planned);
  if (decision.kernel->has_own_queue()) OrderAfterKernels(planned.device);
  BindOutputs(op, &planned);
  planned.arguments = MakeArgTable(op.QueryAt(decision.place));
  planned.input_constant = op.input_constant;
  planned.sizes_change = op.sizes_change;
  AddScratch(&planned);

  Instruction instruction;
  instruction.kind = planned.device < 0 ? InstructionKind::kCompute
                                        : InstructionKind::kDeviceCompute;
  instruction.op_index = op_index;
  instruction.context = static_cast<int>(plan_->ops_.size());
  instruction.device = planned.device;
  instruction.kernel = planned.kernel.get();
  for (const int slot : planned.inputs) {
    Use(planned.device, slot);
  }
  for (const int slot : planned.outputs) {
    Use(planned.device, slot);
  }
  if (planned.scratch >= 0) Use(planned.device, planned.scratch);
  Emit(instruction);
  LeaveLane(planned);
  plan_->ops_.Add(std::move(planned));
  choice_.decisions.push_back(std::move(decision));
}

void PlanBuilder::BindInputs(const PreparedOp& op, PlannedOp* planned) {
  size_t flat = 0;
  for (const ArgDef& def : op.schema->inputs()) {
    for (const std::string& var : op.desc.Input(def.name)) {
      const size_t index = flat++;
      if (def.traits.shape_only) {
        Slot slot;
        slot.kind = SlotKind::kShape;
        slot.var = var;
        slot.dtype = op.input_dtypes[index];
        slot.dims = op.inputs[index];
        planned->inputs.push_back(AddSlot(std::move(slot)));
        continue;
      }
      const PlaceKey place =
          def.traits.host ? PlaceKey(CPUPlace()) : planned->place;
      planned->inputs.push_back(SlotAt(var, place, planned->op_index));
    }
  }
  // Orders follow all copies, so that one wait covers them. Host inputs are
  // read during the kernel's call, so they must have arrived.
  for (const int slot : planned->inputs) {
    if (plan_->slots_[slot].kind == SlotKind::kShape) continue;
    const bool on_host = plan_->slots_[slot].place == PlaceKey(CPUPlace());
    OrderBehind(on_host ? -1 : planned->device, slot);
  }
}

// Whether an output may alias the input that its schema names; then sets `slot`
// to alias it.
bool PlanBuilder::LooksInto(const ArgDef& def,
                            const PlannedOp& planned,
                            Slot* slot) const {
  if (def.aliases.empty()) return false;
  const OpDesc& op = graph_->op(planned.op_index).desc;
  const ArgVars& vars = op.Input(def.aliases);
  if (vars.size() != 1) return false;
  for (const int index : planned.inputs) {
    const Slot& input = plan_->slots_[index];
    const int root = input.alias_of < 0 ? index : input.alias_of;
    const SlotKind kind = plan_->slots_[root].kind;
    if (input.var == vars[0] && input.place == planned.place &&
        input.dtype == slot->dtype &&
        input.dims.numel() == slot->dims.numel() &&
        (kind == SlotKind::kArena || kind == SlotKind::kFeed)) {
      slot->alias_of = root;
      slot->alias_offset = input.alias_offset;
      return true;
    }
  }
  return false;
}

// Whether an output may overwrite the input that its schema names, because no
// other op reads it; then sets `slot` to alias it.
bool PlanBuilder::WritesOver(const ArgDef& def,
                             const PlannedOp& planned,
                             Slot* slot) const {
  if (def.overwrites.empty()) return false;
  const OpDesc& op = graph_->op(planned.op_index).desc;
  const ArgVars& outputs = op.Output(def.name);
  const ArgVars& inputs = op.Input(def.overwrites);
  if (inputs.empty()) return false;
  const auto element =
      std::find(outputs.begin(), outputs.end(), slot->var) - outputs.begin();
  const std::string& var = inputs[static_cast<size_t>(element)];
  if (graph_->OnlyReader(var) != planned.op_index ||
      std::count(inputs.begin(), inputs.end(), var) != 1) {
    return false;
  }
  for (const int index : planned.inputs) {
    const Slot& input = plan_->slots_[index];
    // An alias of another value may not overwrite that value.
    const bool own = input.alias_of < 0 || part_of_.count(var) > 0;
    const int root = input.alias_of < 0 ? index : input.alias_of;
    if (input.var == var && own && input.place == planned.place &&
        input.dims == slot->dims &&
        plan_->slots_[root].kind == SlotKind::kArena) {
      slot->alias_of = root;
      slot->alias_offset = input.alias_offset;
      return true;
    }
  }
  return false;
}

int PlanBuilder::OutputSlot(const ArgDef& def,
                            const std::string& var,
                            const DDim& dims,
                            DType dtype,
                            const PlannedOp& planned) {
  Slot slot;
  slot.var = var;
  slot.place = planned.place;
  slot.dims = dims;
  slot.dtype = dtype;
  const bool persistable = graph_->IsPersistable(var);
  const bool last = graph_->LastWriter(var) == planned.op_index;
  const bool fetched = last && graph_->IsFetched(var);
  if (persistable && last) {
    slot.kind = SlotKind::kShadow;
    slot.updates = ChangedInPlace(def, planned);
  } else if (!dims.known()) {
    slot.kind = SlotKind::kLate;
  } else if (fetched && !persistable && planned.device < 0) {
    slot.kind = SlotKind::kFetch;
  } else if (const auto part = part_of_.find(var); part != part_of_.end()) {
    std::tie(slot.alias_of, slot.alias_offset) = part->second;
  } else if (!persistable && !LooksInto(def, planned, &slot)) {
    WritesOver(def, planned, &slot);
  }
  return AddSlot(std::move(slot));
}

void PlanBuilder::BindOutputs(const PreparedOp& op, PlannedOp* planned) {
  size_t flat = 0;
  for (const ArgDef& def : op.schema->outputs()) {
    for (const std::string& var : op.desc.Output(def.name)) {
      const DDim& dims = op.outputs[flat];
      const DType dtype = op.output_dtypes[flat];
      ++flat;
      const int slot = OutputSlot(def, var, dims, dtype, *planned);
      Fill(slot, planned->device);
      if (!dims.known()) plan_->late_slots_.push_back(slot);
      planned->outputs.push_back(slot);
      values_[var] = {dims, dtype, {slot}};
    }
  }
}

void PlanBuilder::AddScratch(PlannedOp* planned) {
  if (planned->scratch_bytes == 0) return;
  Slot slot;
  slot.kind = SlotKind::kScratch;
  slot.place = planned->place;
  slot.dtype = DType::kUInt8;
  slot.dims = DDim({static_cast<int64_t>(planned->scratch_bytes)});
  planned->scratch = AddSlot(std::move(slot));
}

void PlanBuilder::AddFetches() {
  std::set<int> taken;
  for (const std::string& var : plan_->result_names_) {
    Value& value = UseValue(var);
    const int home = value.slots.front();
    int slot = home;
    const SlotKind kind = plan_->slots_[home].kind;
    const bool own = kind == SlotKind::kFetch || kind == SlotKind::kLate;
    if (!own || !taken.insert(home).second) {
      // Prefers an existing copy on the host.
      int from = home;
      for (const int other : value.slots) {
        if (plan_->slots_[other].place == PlaceKey(CPUPlace())) from = other;
      }
      Slot target;
      target.kind = SlotKind::kFetch;
      slot = NewCopy(var, from, target, -1);
    }
    plan_->fetch_slots_.push_back(slot);
  }
}

void PlanBuilder::NoteUnusedHints() {
  // The first op with an answer.
  struct First {
    int op = -1;
    const HintAnswer* answer = nullptr;
    void Set(int index, const HintAnswer& given) {
      if (answer == nullptr) *this = {index, &given};
    }
  };
  struct Answers {
    First refusal, known_wrong;
    bool obeyed = false;  // by any op
  };
  std::map<std::string, Answers> by_hint;
  for (const Decision& decision : choice_.decisions) {
    for (const HintAnswer& answer : decision.answers) {
      Answers& all = by_hint[answer.hint];
      all.obeyed = all.obeyed || answer.obeyed;
      if (!answer.obeyed) all.refusal.Set(decision.op_index, answer);
      if (answer.known_wrong) all.known_wrong.Set(decision.op_index, answer);
    }
  }
  for (const auto& [hint, all] : by_hint) {
    const auto [op, answer] = all.obeyed ? all.known_wrong : all.refusal;
    if (answer == nullptr) continue;
    plan_->hint_notes_.push_back(
        {op, Format("hint \"{}\" is not obeyed{}; op {} ({}): {}", hint,
                    all.obeyed ? " by every op" : "", op,
                    graph_->op(op).desc.type, answer->why_not)});
  }
  for (const KernelHint& hint : hints_) {
    bool used = false;
    for (const Decision& decision : choice_.decisions) {
      const int id = decision.op_index;
      // Hints cannot name the index of an op that a pass added.
      const bool put_in = graph_->op(id).covers.empty();
      used |= hint.Matches(graph_->op(id).desc, put_in ? -1 : id) ||
              hint.selector == CallName(decision.covered_ops);
      for (const int op : graph_->op(id).covers) {
        used |= hint.Matches(graph_->Written(op), op);
      }
    }
    if (!used) {
      plan_->hint_notes_.push_back(
          {-1, Format("hint \"{}: {}\" names no op of this plan", hint.selector,
                      hint)});
    }
  }
  for (const HintNote& note : plan_->hint_notes_) {
    choice_.notes.push_back(note.text);
  }
}

}  // namespace sluice
