#include "sluice/framework/plan/plan_resize.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <utility>

#include "sluice/framework/choice/op_threads.h"
#include "sluice/framework/choice/reason_text.h"
#include "sluice/framework/choice/resolver.h"
#include "sluice/framework/costs/cost_model.h"
#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/kernel_call.h"
#include "sluice/framework/op/op_check.h"
#include "sluice/framework/op/operand.h"
#include "sluice/framework/plan/feed_check.h"
#include "sluice/framework/plan/graph.h"
#include "sluice/framework/plan/plan_builder.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

// Whether two shapes have the same rank, and sizes 0 and 1, and unknown ones,
// at the same places: what is broadcast stays so.
bool AreAlike(const DDim& a, const DDim& b) {
  if (a.rank() != b.rank()) return false;
  for (int axis = 0; axis < a.rank(); ++axis) {
    const bool small = a[axis] <= 1 || b[axis] <= 1;
    if (small && a[axis] != b[axis]) return false;
  }
  return true;
}

// "x [33], y [33]": the feeds whose sizes differ from those of `other`.
std::string FeedsText(const std::vector<FeedSpec>& feeds,
                      const std::vector<FeedSpec>& other) {
  std::string text;
  for (size_t i = 0; i < feeds.size(); ++i) {
    if (feeds[i].dims == other[i].dims) continue;
    text += Format("{}{} {}", text.empty() ? "" : ", ", feeds[i].name,
                   feeds[i].dims);
  }
  return text;
}

// The facts of an op of a plan.
OpFacts FactsOf(const Plan& plan, const PlannedOp& planned, DType dtype) {
  OpFacts facts;
  facts.desc = plan.op_descs()[planned.op_index];
  facts.id = planned.op_index;
  facts.schema = &Registry::Global().Schema(facts.desc.type);
  facts.dtype = dtype;
  facts.input_constant = planned.input_constant;
  facts.sizes_change = planned.sizes_change;
  for (const int slot : planned.inputs) {
    facts.inputs.push_back(plan.slots()[slot].dims);
    facts.input_dtypes.push_back(plan.slots()[slot].dtype);
  }
  for (const int slot : planned.outputs) {
    facts.outputs.push_back(plan.slots()[slot].dims);
    facts.output_dtypes.push_back(plan.slots()[slot].dtype);
  }
  return facts;
}

// Resolves an op again, but keeps its kernel. Returns the predicted time of the
// kernel, divided by that of the best one.
double KeepKernel(CandidateLister* lister,
                  const KernelDef* kernel,
                  PreparedOp* op) {
  const bool any = Resolve(lister, op);
  auto& candidates = op->list->candidates;
  const auto kept = std::find_if(
      candidates.begin(), candidates.end(),
      [&](const Candidate& each) { return each.kernel == kernel; });
  const auto index = static_cast<int>(kept - candidates.begin());
  if (kept == candidates.end()) {  // it was replaced
    candidates.emplace_back().kernel = kernel;
  }
  if (!any || op->chosen == index) {
    op->chosen = index;
    return 1;
  }
  op->second = std::exchange(op->chosen, index);
  const double best = candidates[op->second].seconds;
  return best > 0 ? candidates[index].seconds / best : 1;
}

}  // namespace

// One plan that is made of another one.
class Resizing {
 public:
  Resizing(const Plan& base, std::vector<FeedSpec> feeds);

  // Returns null if the base cannot serve.
  std::shared_ptr<const Plan> Make();

 private:
  bool InferAsWritten();
  bool SetOperands(const SizeRules::Step& step, OpDesc* desc);
  void AddGiver(const SizeRules::Step& step, const OpDesc& desc);
  bool SetDims(int slot, const DDim& dims);
  bool SetFeeds();
  bool IsUnchanged(const PlannedOp& op) const;
  bool ResizeOp(Instruction* step);
  bool SetOutputs(const PlannedOp& op,
                  const OpDesc& desc,
                  const OpSchema& schema);
  bool AliasesFit(const PlannedOp& op) const;
  bool MakeKernel(const KernelDef& kernel,
                  const KernelQuery& query,
                  PlannedOp* op);
  bool RecordsAgree() const;

  const Plan& base_;
  const SizeRules& rules_;
  std::vector<DDim> dims_;  // by value of the rules
  std::shared_ptr<Plan> plan_;
  // The ops whose values set attributes, by the variables that they give.
  std::deque<PreparedOp> givers_;
  std::unordered_map<std::string, const PreparedOp*> giver_of_;
  KnownValues known_;
  // Shapes and dtypes of the arguments of the op that ResizeOp prepares.
  struct Shapes {
    std::vector<DDim> dims;
    std::vector<DType> dtypes;
    void Set(const std::vector<Slot>& slots, const std::vector<int>& indices);
  } inputs_, outputs_;
};

void Resizing::Shapes::Set(const std::vector<Slot>& slots,
                           const std::vector<int>& indices) {
  dims.clear();
  dtypes.clear();
  for (const int index : indices) {
    dims.push_back(slots[index].dims);
    dtypes.push_back(slots[index].dtype);
  }
}

Resizing::Resizing(const Plan& base, std::vector<FeedSpec> feeds)
    : base_(base),
      rules_(*base.size_rules_),
      dims_(rules_.dims),
      plan_(new Plan()),
      known_(
          [this](const std::string& var, const PreparedOp* /*reader*/) {
            const auto found = giver_of_.find(var);
            return found == giver_of_.end() ? nullptr : found->second;
          },
          plan_->feeds_) {
  Plan& plan = *plan_;
  plan.place_ = base.place_;
  plan.num_threads_ = base.num_threads_;
  plan.random_ = base.random_;
  plan.options_ = base.options_;
  plan.pool_ = base.pool_;
  plan.feeds_ = std::move(feeds);
  plan.fetch_names_ = base.fetch_names_;
  plan.result_names_ = base.result_names_;
  plan.rest_ = base.rest_;
  plan.whole_ = base.whole_;
  plan.feed_slots_ = base.feed_slots_;
  plan.fetch_slots_ = base.fetch_slots_;
  plan.feed_aliases_ = base.feed_aliases_;
  plan.persistable_slots_ = base.persistable_slots_;
  plan.shadow_slots_ = base.shadow_slots_;
  plan.late_slots_ = base.late_slots_;
  plan.slots_ = base.slots_;
  plan.instructions_ = base.instructions_;
  plan.ops_ = base.ops_;
  plan.op_descs_ = base.op_descs_;
  plan.idle_ops_ = base.idle_ops_;
  plan.base_choice_ = base.choice_;
  plan.base_feeds_ = base.feeds_;
  plan.size_rules_of_base_ = base.size_rules_;
}

std::shared_ptr<const Plan> Resizing::Make() {
  if (!InferAsWritten() || !SetFeeds()) return nullptr;
  for (Instruction& step : plan_->instructions_) {
    const bool fits = step.kind == InstructionKind::kCompute
                          ? ResizeOp(&step)
                          : SetDims(step.to, plan_->slots_[step.from].dims);
    if (!fits) return nullptr;
  }
  if (!RecordsAgree()) return nullptr;
  PlanBuilder::LayOutMemory(plan_.get());
  plan_->commit_ = PlanCommit(*plan_);
  return plan_;
}

// Sets the shapes that the ops have as the program has them, and the attributes
// that follow from them.
bool Resizing::InferAsWritten() {
  for (size_t i = 0; i < plan_->feeds_.size(); ++i) {
    dims_[rules_.feeds[i]] = plan_->feeds_[i].dims;
  }
  for (const SizeRules::Step& step : rules_.steps) {
    const bool is_new =
        !step.operands.empty() ||
        std::any_of(step.inputs.begin(), step.inputs.end(), [&](int value) {
          return dims_[value] != rules_.dims[value];
        });
    if (!is_new && !step.gives_operand) continue;
    OpDesc changed;
    if (!step.operands.empty() && !SetOperands(step, &changed)) return false;
    const OpDesc& desc = step.operands.empty() ? step.desc : changed;
    std::vector<DDim> inputs;
    inputs.reserve(step.inputs.size());
    for (const int value : step.inputs) {
      inputs.push_back(dims_[value]);
    }
    const auto shapes =
        InferShapes(*step.schema, desc, std::move(inputs), step.input_dtypes);
    size_t flat = 0;
    for (const auto& of_argument : shapes) {
      for (const DDim& dims : of_argument) {
        DDim& known = dims_[step.outputs[flat++]];
        if (!AreAlike(known, dims)) return false;
        known = dims;
      }
    }
    if (step.gives_operand) AddGiver(step, desc);
    if (!step.operands.empty()) {
      plan_->op_descs_.Set(step.id, std::move(changed));
    }
  }
  return true;
}

// Sets `desc` to the op with attributes for the new sizes; returns false if
// their values are not known.
bool Resizing::SetOperands(const SizeRules::Step& step, OpDesc* desc) {
  *desc = step.desc;
  for (const KnownOperand& operand : step.operands) {
    std::string reason;
    const Tensor* value = known_.Find(operand.var, &reason);
    if (value == nullptr) return false;
    desc->attributes[operand.attr->name] =
        OperandValue(desc->type, *operand.def, *operand.attr, *value);
  }
  return true;
}

void Resizing::AddGiver(const SizeRules::Step& step, const OpDesc& desc) {
  PreparedOp& op = givers_.emplace_back();
  op.desc = desc;
  op.id = step.id;
  op.schema = step.schema;
  op.dtype = step.dtype;
  op.input_dtypes = step.input_dtypes;
  op.output_dtypes = step.output_dtypes;
  for (const int value : step.inputs) {
    op.inputs.push_back(dims_[value]);
  }
  for (const int value : step.outputs) {
    op.outputs.push_back(dims_[value]);
  }
  for (const std::string& name : FlatOutputs(*op.schema, op.desc)) {
    giver_of_[name] = &op;
  }
}

// Returns false if the shape is not one that the program gives the variable.
bool Resizing::SetDims(int index, const DDim& dims) {
  Slot& slot = plan_->slots_[index];
  if (!AreAlike(slot.dims, dims)) return false;
  const int value = rules_.of_slot[index];
  if (value >= 0) {
    const bool as_written = slot.dims == rules_.dims[value];
    const DDim& written = dims_[value];
    if (as_written && dims != written) return false;
    // A pass changed the order of its dims.
    if (written.known() != dims.known()) return false;
    if (dims.known() && dims.numel() != written.numel()) return false;
  }
  slot.dims = dims;
  PlanBuilder::SetBytes(&slot);
  return true;
}

bool Resizing::SetFeeds() {
  for (size_t i = 0; i < plan_->feeds_.size(); ++i) {
    FeedSpec& feed = plan_->feeds_[i];
    const FeedSpec& base = base_.feeds_[i];
    // A plan that knows the value may need no later ones.
    const bool unread = feed.value.allocated() && feed.dims != base.dims;
    if (unread && !base_.whole()) return false;
    feed.value = Tensor();
    Slot& slot = plan_->slots_[plan_->feed_slots_[i]];
    slot.dims = feed.dims;
    PlanBuilder::SetBytes(&slot);
  }
  return true;
}

bool Resizing::SetOutputs(const PlannedOp& op,
                          const OpDesc& desc,
                          const OpSchema& schema) {
  std::vector<DDim> inputs;
  std::vector<DType> dtypes;
  inputs.reserve(op.inputs.size());
  dtypes.reserve(op.inputs.size());
  for (const int slot : op.inputs) {
    inputs.push_back(plan_->slots_[slot].dims);
    dtypes.push_back(plan_->slots_[slot].dtype);
  }
  size_t flat = 0;
  for (const auto& of_argument :
       InferShapes(schema, desc, std::move(inputs), std::move(dtypes))) {
    for (const DDim& dims : of_argument) {
      if (!SetDims(op.outputs[flat++], dims)) return false;
    }
  }
  return true;
}

// Whether each output that has the memory of an input still fits there.
bool Resizing::AliasesFit(const PlannedOp& op) const {
  const auto root_of = [&](int index) {
    const int root = plan_->slots_[index].alias_of;
    return root < 0 ? index : root;
  };
  return std::all_of(op.outputs.begin(), op.outputs.end(), [&](int output) {
    const Slot& slot = plan_->slots_[output];
    if (slot.alias_of < 0) return true;
    return std::any_of(op.inputs.begin(), op.inputs.end(), [&](int input) {
      const Slot& from = plan_->slots_[input];
      return root_of(input) == slot.alias_of &&
             from.dims.numel() == slot.dims.numel() &&
             slot.bytes <= plan_->slots_[slot.alias_of].bytes;
    });
  });
}

bool Resizing::MakeKernel(const KernelDef& kernel,
                          const KernelQuery& query,
                          PlannedOp* op) {
  if (!Refusal(kernel, query).empty()) return false;
  KernelPreparation preparation{query};
  preparation.num_threads = plan_->num_threads_;
  op->kernel = MakePreparedKernel(kernel, op->op_index, &preparation);
  op->scratch_bytes = preparation.scratch_bytes;
  if (op->scratch < 0) return op->scratch_bytes == 0;
  Slot& scratch = plan_->slots_[op->scratch];
  scratch.dims = DDim({static_cast<int64_t>(op->scratch_bytes)});
  PlanBuilder::SetBytes(&scratch);
  return true;
}

// Whether an op has the shapes and the attributes that it has in the base, so
// that its kernel is the same.
bool Resizing::IsUnchanged(const PlannedOp& op) const {
  if (&plan_->op_descs_[op.op_index] != &base_.op_descs_[op.op_index]) {
    return false;
  }
  const auto is_same = [this](int slot) {
    const int value = rules_.of_slot[slot];
    return plan_->slots_[slot].dims == base_.slots_[slot].dims &&
           (value < 0 || dims_[value] == rules_.dims[value]);
  };
  return std::all_of(op.inputs.begin(), op.inputs.end(), is_same) &&
         std::all_of(op.outputs.begin(), op.outputs.end(), is_same);
}

bool Resizing::ResizeOp(Instruction* step) {
  const auto position = static_cast<size_t>(step->context);
  if (IsUnchanged(base_.ops_[position])) {
    ++plan_->shared_ops_;
    return true;
  }
  PlannedOp op = base_.ops_[position];
  for (const int input : op.inputs) {
    if (plan_->slots_[input].kind != SlotKind::kShape) continue;
    if (!SetDims(input, dims_[rules_.of_slot[input]])) return false;
  }
  const OpDesc& desc = plan_->op_descs()[op.op_index];
  if (rules_.as_written[position]) {
    for (const int output : op.outputs) {
      if (!SetDims(output, dims_[rules_.of_slot[output]])) return false;
    }
  } else if (!SetOutputs(op, desc, Registry::Global().Schema(desc.type))) {
    return false;
  }
  if (!AliasesFit(op)) return false;
  const Decision& decision = base_.decisions()[position];
  inputs_.Set(plan_->slots_, op.inputs);
  outputs_.Set(plan_->slots_, op.outputs);
  op.arguments.output_dims = outputs_.dims;
  const KernelQuery query = {Registry::Global().Schema(desc.type),
                             desc,
                             inputs_.dims,
                             inputs_.dtypes,
                             outputs_.dims,
                             outputs_.dtypes,
                             op.place,
                             op.input_constant};
  if (!MakeKernel(*decision.kernel, query, &op)) return false;
  step->kernel = op.kernel.get();
  plan_->ops_.Set(position, std::move(op));
  return true;
}

// Whether no record says that another kernel is much faster at these sizes.
bool Resizing::RecordsAgree() const {
  if (ActiveCostModel().Begin(plan_->num_threads_) == nullptr) return true;
  constexpr double kMuch = 1.25;
  CandidateLister lister(Registry::Global(), plan_->place_,
                         plan_->num_threads_);
  for (size_t i = 0; i < plan_->ops_.size(); ++i) {
    const KernelDef* kernel = base_.decisions()[i].kernel;
    PreparedOp op;
    static_cast<OpFacts&>(op) =
        FactsOf(*plan_, plan_->ops_[i], kernel->key.dtype);
    const double behind = KeepKernel(&lister, kernel, &op);
    const bool recorded =
        op.second >= 0 &&
        op.list->candidates[op.second].record != nullptr;  // of these sizes
    if (behind > (recorded ? 1 : kMuch)) return false;
    if (!op.choice().refusal.empty()) return false;
  }
  return true;
}

void PlanResizer::Allow(Plan* plan, std::unique_ptr<SizeRules> rules) {
  if (rules == nullptr || plan->place_.kind != PlaceKind::kCPU ||
      !plan->queues_.empty() || !plan->transfers_.empty() ||
      !plan->blocks_.empty() || !plan->hooks_.empty()) {
    return;
  }
  for (const FeedSpec& feed : plan->feeds_) {
    if (feed.value.allocated()) return;
  }
  for (const Instruction& step : plan->instructions_) {
    if (step.kind != InstructionKind::kCompute &&
        step.kind != InstructionKind::kCopyOnHost) {
      return;
    }
  }
  for (const Decision& decision : plan->decisions()) {
    if (decision.kernel->make == nullptr || !decision.answers.empty()) return;
  }
  if (!rules->Follow(*plan)) return;
  plan->size_rules_ = std::move(rules);
}

std::vector<std::vector<FeedSpec>> PlanResizer::Typical(
    const Program& program, const std::vector<FeedSpec>& feeds) {
  auto apart = feeds;
  auto together = feeds;
  std::map<int64_t, int64_t> least;  // by power of two: the least size above it
  const auto for_each_open = [&](auto&& work) {
    for (size_t i = 0; i < feeds.size(); ++i) {
      const VarDesc* var = program.block().FindVar(feeds[i].name);
      if (var == nullptr || var->dims.rank() != feeds[i].dims.rank()) continue;
      for (int axis = 0; axis < feeds[i].dims.rank(); ++axis) {
        const int64_t size = feeds[i].dims[axis];
        if (var->dims[axis] >= 0 || size <= 1) continue;
        work(i, axis, size,
             static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(size))));
      }
    }
  };
  for_each_open([&](size_t, int, int64_t size, int64_t power) {
    const auto [found, is_new] = least.emplace(power, size);
    if (!is_new) found->second = std::min(found->second, size);
  });
  for_each_open([&](size_t i, int axis, int64_t size, int64_t power) {
    apart[i].dims[axis] = power;
    together[i].dims[axis] = size - (least[power] - power);
  });
  const auto is_equal = [&](const std::vector<FeedSpec>& a,
                            const std::vector<FeedSpec>& b) {
    return std::equal(a.begin(), a.end(), b.begin(),
                      [](const FeedSpec& one, const FeedSpec& other) {
                        return one.dims == other.dims;
                      });
  };
  std::vector<std::vector<FeedSpec>> typical;
  for (auto* each : {&apart, &together}) {
    if (is_equal(*each, feeds)) break;
    if (!typical.empty() && is_equal(*each, typical[0])) break;
    for (size_t i = 0; i < feeds.size(); ++i) {
      if ((*each)[i].dims != feeds[i].dims) (*each)[i].value = Tensor();
    }
    typical.push_back(std::move(*each));
  }
  return typical;
}

std::vector<std::vector<FeedSpec>> PlanResizer::TypicalButOne(
    const std::vector<std::vector<FeedSpec>>& typical,
    const std::vector<FeedSpec>& feeds) {
  constexpr size_t kMost = 4;
  std::vector<std::vector<FeedSpec>> all;
  if (typical.empty()) return all;
  for (size_t i = 0; i < feeds.size(); ++i) {
    for (int axis = 0; axis < feeds[i].dims.rank(); ++axis) {
      const int64_t size = feeds[i].dims[axis];
      if (typical[0][i].dims[axis] == size) continue;
      auto& sizes = all.emplace_back(typical[0]);
      sizes[i].dims[axis] = size;
      if (sizes[i].dims == feeds[i].dims) sizes[i].value = feeds[i].value;
    }
  }
  if (all.size() < 2 || all.size() > kMost) all.clear();
  return all;
}

bool PlanResizer::IsFor(const Plan& plan, const std::vector<FeedSpec>& feeds) {
  const std::vector<FeedSpec>& own = plan.feed_specs();
  return std::equal(own.begin(), own.end(), feeds.begin(), feeds.end(),
                    [](const FeedSpec& a, const FeedSpec& b) {
                      return a.name == b.name && a.dtype == b.dtype &&
                             a.place == b.place && a.dims == b.dims &&
                             a.handed_on == b.handed_on;
                    });
}

std::shared_ptr<const Plan> PlanResizer::Resize(const Plan& base,
                                                const Program& program,
                                                std::vector<FeedSpec> feeds) {
  try {
    CheckFeeds(program, feeds);
    return Resizing(base, std::move(feeds)).Make();
  } catch (const Error&) {
    return nullptr;  // a preparation says it with the op's line
  }
}

// The remark about an attribute that follows from sizes, as a graph makes it.
static std::string RemarkOn(const OpDesc& desc,
                            int id,
                            const KnownOperand& operand) {
  return Format("op {} ({}): {}", id, desc.type,
                OperandRemark(operand, desc.attributes.at(operand.attr->name)));
}

PlanChoice PlanResizer::Choose(const Plan& plan,
                               const PlanChoice& base,
                               const std::vector<FeedSpec>& base_feeds) {
  PlanChoice choice = base;
  const std::string sizes = FeedsText(base_feeds, plan.feed_specs());
  for (const SizeRules::Step& step : plan.size_rules_of_base_->steps) {
    for (const KnownOperand& operand : step.operands) {
      std::replace(choice.notes.begin(), choice.notes.end(),
                   RemarkOn(step.desc, step.id, operand),
                   RemarkOn(plan.op_descs()[step.id], step.id, operand));
    }
  }
  choice.notes.push_back(
      Format("the kernels are those that were chosen for {}", sizes));
  CandidateLister lister(Registry::Global(), plan.place(), plan.num_threads());
  for (size_t i = 0; i < choice.decisions.size(); ++i) {
    Decision& decision = choice.decisions[i];
    PreparedOp op;
    static_cast<OpFacts&>(op) =
        FactsOf(plan, plan.ops()[i], decision.kernel->key.dtype);
    const double behind = KeepKernel(&lister, decision.kernel, &op);
    decision.list = op.list;
    if (behind <= 1 && op.choice().refusal.empty()) {
      GiveReason(&op);
      if (op.why.subject.empty()) op.why.subject = decision.why.subject;
      decision.why = op.why;
      decision.reason = op.reason;
    } else {
      decision.why = {Reason::kChosenForSize, sizes};
      decision.reason = Format("chosen for {}", sizes);
    }
  }
  return choice;
}

}  // namespace sluice
