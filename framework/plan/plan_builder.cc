#include "sluice/framework/plan/plan_builder.h"

#include <algorithm>
#include <set>

#include "sluice/framework/infer_shape_context.h"
#include "sluice/framework/near_names.h"
#include "sluice/platform/device.h"
#include "sluice/platform/error.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::framework {

using platform::CPUPlace;
using platform::ErrorCode;
using platform::Format;

PlanBuilder::PlanBuilder(const Program& program,
                         std::vector<FeedSpec> feeds,
                         std::vector<std::string> fetches,
                         PlaceKey place,
                         PlanOptions options)
    : program_(program),
      block_(program.block()),
      registry_(Registry::Global()),
      plan_(new Plan()),
      hints_(ActiveKernelHints()),
      needed_(block_.ops.size(), false) {
  plan_->place_ = place;
  plan_->num_threads_ = platform::NumThreads();
  plan_->options_ = options;
  plan_->feeds_ = std::move(feeds);
  plan_->fetch_names_ = std::move(fetches);
  plan_->op_descs_ = block_.ops;
}

std::shared_ptr<const Plan> PlanBuilder::Build() {
  LoadDevices(&hints_);
  for (const OpDesc& op : block_.ops) {
    op_hints_.push_back(ParseKernelHints(op.hint, "op attribute"));
    LoadDevices(&op_hints_.back());
  }
  CheckFeeds();
  CheckFetches();
  FindNeededOps();
  AddFeeds();
  for (size_t i = 0; i < block_.ops.size(); ++i) {
    const int op_index = static_cast<int>(i);
    if (!needed_[i]) {
      plan_->notes_.push_back(
          Format("op {} ({}) does not run: nothing that is "
                 "fetched or persistable needs it",
                 op_index, block_.ops[i].type));
      continue;
    }
    try {
      AddOp(op_index);
    } catch (platform::Error& error) {
      error.AddContext(Format("in op {} ({})", op_index, block_.ops[i].type));
      error.AddContext(DescribeLocation(block_.ops[i].location));
      throw;
    }
  }
  AddShadows();
  AddFetches();
  FinishQueues();
  LayOutMemory();
  NoteUnusedHints();
  return std::move(plan_);
}

// A hint may name a device whose plug-in is not loaded yet. One that is not
// there cannot be required; what is only preferred goes without it.
void PlanBuilder::LoadDevices(std::vector<KernelHint>* hints) {
  std::vector<KernelHint> usable;
  for (KernelHint& hint : *hints) {
    try {
      if (!hint.place.empty()) {
        platform::DeviceManager::Instance().Get(
            platform::ParsePlaceKey(hint.place));
      }
      usable.push_back(std::move(hint));
    } catch (platform::Error& error) {
      error.AddContext(Format("asked for by hint {}", hint));
      if (hint.require || error.code() == ErrorCode::kInvalidArgument) throw;
      plan_->notes_.push_back(Format("hint {} is left out: {}", hint,
                                     platform::ToString(error.code())));
    }
  }
  *hints = std::move(usable);
}

void PlanBuilder::CheckFeeds() {
  std::set<std::string> names;
  for (const FeedSpec& feed : plan_->feeds_) {
    const VarDesc& var = program_.FindVar(feed.name);
    SLUICE_ENFORCE(var.is_data, ErrorCode::kInvalidArgument, "feed.not_data",
                   "feed {}: only variables made with Program::Data can be "
                   "fed",
                   feed.name);
    SLUICE_ENFORCE(names.insert(feed.name).second, ErrorCode::kInvalidArgument,
                   "feed.twice", "feed {} is given twice", feed.name);
    SLUICE_ENFORCE(feed.dtype == var.dtype, ErrorCode::kInvalidArgument,
                   "feed.dtype", "feed {} must be {}, got {}", feed.name,
                   var.dtype, feed.dtype);
    bool fits = !var.dims.rank_known() || var.dims.rank() == feed.dims.rank();
    for (int axis = 0; fits && axis < var.dims.rank(); ++axis) {
      fits = var.dims[axis] < 0 || var.dims[axis] == feed.dims[axis];
    }
    SLUICE_ENFORCE(fits, ErrorCode::kInvalidArgument, "feed.shape",
                   "feed {} must have shape {}, got {}", feed.name, var.dims,
                   feed.dims);
  }
}

void PlanBuilder::CheckFetches() {
  for (const std::string& name : plan_->fetch_names_) {
    fetched_.insert(program_.FindVar(name).name);
  }
}

// Backwards from what is fetched and what persists.
void PlanBuilder::FindNeededOps() {
  std::set<std::string> needed = fetched_;
  for (size_t i = block_.ops.size(); i-- > 0;) {
    const OpDesc& op = block_.ops[i];
    for (const auto& [argument, vars] : op.outputs) {
      for (const std::string& var : vars) {
        last_definition_.try_emplace(var, static_cast<int>(i));
        const VarDesc* desc = block_.FindVar(var);
        if (needed.erase(var) > 0 || (desc != nullptr && desc->persistable)) {
          needed_[i] = true;
        }
      }
    }
    if (!needed_[i]) continue;
    for (const auto& [argument, vars] : op.inputs) {
      needed.insert(vars.begin(), vars.end());
    }
  }
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

void PlanBuilder::AddPersistable(const VarDesc& var) {
  Slot slot;
  slot.kind = SlotKind::kPersistable;
  slot.var = var.name;
  slot.place = plan_->place_;
  slot.dtype = var.dtype;
  slot.dims = var.dims;
  const int index = AddSlot(std::move(slot));
  values_[var.name] = {var.dims, var.dtype, {index}};
  plan_->persistable_slots_.push_back(index);
}

PlanBuilder::Value& PlanBuilder::UseValue(const std::string& var) {
  const auto known = values_.find(var);
  if (known != values_.end()) return known->second;
  const VarDesc& desc = program_.FindVar(var);
  // Programs grow op by op, so what no op has written yet is fed or persists.
  SLUICE_ENFORCE(desc.persistable, ErrorCode::kNotFound, "feed.missing",
                 "{} ({} {}) must be fed", var, desc.dtype, desc.dims);
  AddPersistable(desc);
  return values_[var];
}

Decision PlanBuilder::Decide(const OpDesc& op,
                             const OpSchema& schema,
                             const BoundTypes& types,
                             int op_index,
                             ResolveRequest* request) {
  const auto shapes =
      InferShapes(schema, op, request->inputs, request->input_dtypes);
  for (size_t i = 0; i < shapes.size(); ++i) {
    const ArgDef& def = schema.outputs()[i];
    for (const DDim& dims : shapes[i]) {
      SLUICE_ENFORCE(dims.known(), ErrorCode::kUnimplemented,
                     "plan.unknown_shape",
                     "{}: the shape of output {} is still {} with all feeds "
                     "known; shapes that depend on data are not supported yet",
                     op.type, def.name, dims);
      // An overflow is found here, before anything is allocated.
      dims.numel();
      request->outputs.push_back(dims);
      request->output_dtypes.push_back(types.Of(def));
    }
  }
  request->hints = op_hints_[op_index];
  request->hints.insert(request->hints.end(), hints_.begin(), hints_.end());
  request->op_index = op_index;
  request->expected_place = plan_->place_;
  request->dtype = types.KernelDType();
  return Resolve(*request, registry_);
}

void PlanBuilder::AddOp(int op_index) {
  const OpDesc& op = block_.ops[op_index];
  const OpSchema& schema = registry_.Schema(op.type);
  ResolveRequest request{.schema = schema, .op = op};
  for (const ArgDef& def : schema.inputs()) {
    for (const std::string& var : op.Input(def.name)) {
      const Value& value = UseValue(var);
      request.inputs.push_back(value.dims);
      request.input_dtypes.push_back(value.dtype);
      request.input_moves.push_back(!def.traits.host && !def.traits.shape_only);
      auto& places = request.input_places.emplace_back();
      for (const int slot : value.slots) {
        places.push_back(plan_->slots_[slot].place);
      }
    }
  }
  const BoundTypes types(schema, op, request.input_dtypes);
  Decision decision = Decide(op, schema, types, op_index, &request);

  PlannedOp planned;
  planned.op_index = op_index;
  planned.place = decision.place;
  planned.device = DeviceIndex(decision.place);
  BindInputs(schema, &planned);
  BindOutputs(schema, request, &planned);
  FillArguments(schema, request, &planned);
  AddKernel(decision, request, &planned);

  Instruction instruction;
  instruction.kind = planned.device < 0 ? InstructionKind::kCompute
                                        : InstructionKind::kDeviceCompute;
  instruction.op_index = op_index;
  instruction.context = static_cast<int>(plan_->ops_.size());
  instruction.device = planned.device;
  instruction.kernel = planned.kernel.get();
  for (const int slot : planned.inputs) {
    Touch(slot);
  }
  for (const int slot : planned.outputs) {
    Touch(slot);
  }
  if (planned.scratch >= 0) Touch(planned.scratch);
  plan_->ops_.push_back(std::move(planned));
  Emit(instruction);
  plan_->decisions_.push_back(std::move(decision));
}

void PlanBuilder::BindInputs(const OpSchema& schema, PlannedOp* planned) {
  const OpDesc& op = block_.ops[planned->op_index];
  for (const ArgDef& def : schema.inputs()) {
    for (const std::string& var : op.Input(def.name)) {
      if (def.traits.shape_only) {
        Slot slot;
        slot.kind = SlotKind::kShape;
        slot.var = var;
        slot.dtype = values_[var].dtype;
        slot.dims = values_[var].dims;
        planned->inputs.push_back(AddSlot(std::move(slot)));
        continue;
      }
      const PlaceKey place =
          def.traits.host ? PlaceKey(CPUPlace()) : planned->place;
      const int slot = SlotAt(var, place, planned->op_index);
      // Host inputs are read when the kernel is called, so they must be there.
      if (planned->device < 0 || def.traits.host) WaitFor(slot);
      planned->inputs.push_back(slot);
    }
  }
}

int PlanBuilder::AliasedSlot(const ArgDef& def,
                             const DDim& dims,
                             DType dtype,
                             const PlannedOp& planned) const {
  if (def.aliases.empty()) return -1;
  const OpDesc& op = block_.ops[planned.op_index];
  const ArgVars& vars = op.Input(def.aliases);
  if (vars.size() != 1) return -1;
  for (const int slot : planned.inputs) {
    const Slot& input = plan_->slots_[slot];
    const int root = input.alias_of < 0 ? slot : input.alias_of;
    const SlotKind kind = plan_->slots_[root].kind;
    if (input.var == vars[0] && input.place == planned.place &&
        input.dtype == dtype && input.dims.numel() == dims.numel() &&
        (kind == SlotKind::kArena || kind == SlotKind::kFeed)) {
      return root;
    }
  }
  return -1;
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
  const VarDesc* desc = block_.FindVar(var);
  const bool persistable = desc != nullptr && desc->persistable;
  const bool last = last_definition_[var] == planned.op_index;
  const bool fetched = last && fetched_.count(var) > 0;
  if (persistable && last && planned.place == plan_->place_) {
    slot.kind = SlotKind::kShadow;
  } else if (fetched && !persistable && planned.device < 0) {
    slot.kind = SlotKind::kFetch;
  } else if (!persistable) {
    slot.alias_of = AliasedSlot(def, dims, dtype, planned);
  }
  return AddSlot(std::move(slot));
}

void PlanBuilder::BindOutputs(const OpSchema& schema,
                              const ResolveRequest& request,
                              PlannedOp* planned) {
  const OpDesc& op = block_.ops[planned->op_index];
  size_t flat = 0;
  for (const ArgDef& def : schema.outputs()) {
    for (const std::string& var : op.Output(def.name)) {
      const DDim& dims = request.outputs[flat];
      const DType dtype = request.output_dtypes[flat];
      ++flat;
      const int slot = OutputSlot(def, var, dims, dtype, *planned);
      written_by_[slot] = planned->device;
      planned->outputs.push_back(slot);
      values_[var] = {dims, dtype, {slot}};
    }
  }
}

void PlanBuilder::FillArguments(const OpSchema& schema,
                                const ResolveRequest& request,
                                PlannedOp* planned) {
  const OpDesc& op = block_.ops[planned->op_index];
  const auto fill = [](const std::vector<ArgDef>& defs, auto get,
                       std::vector<ArgTable::Entry>* entries) {
    int begin = 0;
    for (const ArgDef& def : defs) {
      const int count = static_cast<int>(get(def.name).size());
      entries->push_back({def.name, begin, count});
      begin += count;
    }
  };
  ArgTable& table = planned->arguments;
  table.op = op.type;
  fill(
      schema.inputs(), [&](auto& name) { return op.Input(name); },
      &table.inputs);
  fill(
      schema.outputs(), [&](auto& name) { return op.Output(name); },
      &table.outputs);
  table.output_dims = request.outputs;
  table.output_dtypes = request.output_dtypes;
}

void PlanBuilder::AddKernel(const Decision& decision,
                            const ResolveRequest& request,
                            PlannedOp* planned) {
  const OpDesc& op = request.op;
  planned->kernel = decision.kernel->make({op, decision.kernel->key});
  const KernelQuery query{request.schema,  op,
                          request.inputs,  request.input_dtypes,
                          request.outputs, request.output_dtypes,
                          decision.place};
  KernelPreparation preparation{query};
  preparation.num_threads = plan_->num_threads_;
  planned->kernel->Prepare(preparation);
  if (preparation.scratch_bytes == 0) return;
  Slot slot;
  slot.kind = SlotKind::kScratch;
  slot.place = decision.place;
  slot.dtype = DType::kUInt8;
  slot.dims = DDim({static_cast<int64_t>(preparation.scratch_bytes)});
  planned->scratch = AddSlot(std::move(slot));
}

// A persistable that was last written elsewhere comes home.
void PlanBuilder::AddShadows() {
  for (const auto& [var, op_index] : last_definition_) {
    const VarDesc* desc = block_.FindVar(var);
    if (desc == nullptr || !desc->persistable) continue;
    int home = values_[var].slots.front();
    if (plan_->slots_[home].kind == SlotKind::kShadow) {
      plan_->shadow_slots_.push_back(home);
      continue;
    }
    const PlaceKey place = plan_->slots_[home].place;
    // From one device to another the way leads over the host.
    if (place != plan_->place_ && plan_->place_ != PlaceKey(CPUPlace())) {
      home = SlotAt(var, CPUPlace(), op_index);
    }
    Slot target;
    target.kind = SlotKind::kShadow;
    target.place = plan_->place_;
    plan_->shadow_slots_.push_back(NewCopy(var, home, target, op_index));
  }
}

void PlanBuilder::AddFetches() {
  std::set<int> taken;
  for (const std::string& var : plan_->fetch_names_) {
    Value& value = UseValue(var);
    const int home = value.slots.front();
    int slot = home;
    if (plan_->slots_[home].kind != SlotKind::kFetch ||
        !taken.insert(home).second) {
      // Prefer a copy that is on the host already.
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
  for (const KernelHint& hint : hints_) {
    bool used = false;
    for (const Decision& decision : plan_->decisions_) {
      used |= hint.Matches(block_.ops[decision.op_index], decision.op_index);
    }
    if (!used) {
      plan_->notes_.push_back(Format("hint \"{}: {}\" names no op of this plan",
                                     hint.selector, hint));
    }
  }
}

}  // namespace sluice::framework
