#include <algorithm>
#include <unordered_set>
#include <utility>

#include "sluice/framework/hints/kernel_hints.h"
#include "sluice/framework/op/op_check.h"
#include "sluice/framework/plan/feed_check.h"
#include "sluice/framework/plan/graph.h"
#include "sluice/framework/plan/known_values.h"
#include "sluice/framework/program/block_ops.h"
#include "sluice/platform/error.h"
#include "sluice/platform/parallel_for.h"

// Construction of a graph from a program; graph.cc has the passes' functions.
namespace sluice {

namespace {

constexpr const char* kRunsBlocks = "runs blocks";

void AddOpContext(const OpDesc& op, int op_index, Error* error) {
  error->AddContext(Format("in op {} ({})", op_index, op.type));
  error->AddContext(DescribeLocation(op.location));
}

// Whether an op leaves the variables that it updates in training unchanged, as
// batch_norm does with its running mean and variance.
bool OnlyTests(const OpDesc& op) {
  const auto found = op.attributes.find("is_test");
  if (found == op.attributes.end()) return false;
  const bool* is_test = std::get_if<bool>(&found->second);
  return is_test != nullptr && *is_test;
}

}  // namespace

Graph::Graph(const Program& program,
             const std::vector<FeedSpec>& feeds,
             const std::vector<std::string>& fetches,
             PlaceKey place,
             std::vector<KernelHint> hints,
             std::map<int, std::vector<KernelHint>> op_hints,
             const HintsOfOps* vetoes,
             PrepareBlock prepare_block)
    : program_(program),
      vetoes_(vetoes),
      prepare_block_(std::move(prepare_block)),
      place_(place),
      hints_(std::move(hints)),
      pass_hints_(&hints_, &op_hints),
      lister_(Registry::Global(), place, NumThreads()),
      ops_(program.block().ops.size()) {
  CheckFeeds(program_, feeds);
  for (const std::string& name : fetches) {
    ValueOf(program_.FindVar(name).name).fetched = true;
  }
  const std::unordered_set<std::string_view> fed = DefineFeeds(feeds);
  const std::vector<int> needed = NeededOpsOf(
      program_.block(), {fetches.begin(), fetches.end()}, fed, &not_needed_);
  static const std::vector<KernelHint> kNone;
  const auto writer = [this](const std::string& var, const PreparedOp* reader) {
    const int id = LastWriter(var, reader == nullptr ? -1 : reader->id);
    return id < 0 ? nullptr : &ops_[id];
  };
  KnownValues known(writer, feeds);
  // Blocks are chosen by shapes and constants alone: with values of feeds, each
  // new value of a condition would need a new plan.
  const std::vector<FeedSpec> no_feeds;
  KnownValues of_shapes(writer, no_feeds);
  std::vector<int> later;
  for (const int id : needed) {
    const OpDesc& desc = program_.block().ops[id];
    const auto own = op_hints.find(id);
    try {
      const std::string reason = AddNeeded(
          id, own == op_hints.end() ? kNone : own->second, &known, &of_shapes);
      if (reason.empty()) continue;
      if (later.empty()) {
        rest_.reason = Format("op {} ({}) {}", id, desc.type, reason);
      }
    } catch (Error& error) {
      AddOpContext(desc, id, &error);
      NoteRowsOfFeeds(program_, feeds, &error);
      throw;
    }
    later.push_back(id);
    NoteLater(desc);
  }
  used_feeds_ = known.used_feeds();
  chosen_by_sizes_ |= of_shapes.used_shapes();
  if (!later.empty()) CheckLater(later);
  FindResults(fetches, later);
  DropUnread();
}

// Returns the names.
std::unordered_set<std::string_view> Graph::DefineFeeds(
    const std::vector<FeedSpec>& feeds) {
  std::unordered_set<std::string_view> names;
  for (const FeedSpec& feed : feeds) {
    Value& value = ValueOf(feed.name);
    value.dims = feed.dims;
    value.dtype = feed.dtype;
    value.defined = true;
    names.insert(feed.name);
  }
  return names;
}

void Graph::NoteLater(const OpDesc& desc) {
  for (const auto& [argument, vars] : desc.outputs) {
    for (const std::string& var : vars) {
      (IsPersistable(var) ? updated_later_ : later_vars_).insert(var);
    }
  }
}

// Adds an op, or the block that runs in its place. Returns why it must wait for
// a later stretch; "" if it was added.
std::string Graph::AddNeeded(int id,
                             const std::vector<KernelHint>& hints,
                             KnownValues* known,
                             KnownValues* of_shapes) {
  const OpDesc& desc = program_.block().ops[id];
  const auto note = [&](const std::string& text) {
    operand_remarks_.push_back(Format("op {} ({}): {}", id, desc.type, text));
  };
  std::string reason = WhyLater(desc, known);
  if (reason.empty() && !rest_.reason.empty() && !OnlyTests(desc)) {
    // Only the last stretch may update (CheckLater).
    for (const auto& [argument, vars] : desc.outputs) {
      for (const std::string& var : vars) {
        if (IsPersistable(var)) reason = Format("updates {}", var);
      }
    }
  }
  const int block = reason == kRunsBlocks ? TakenBlock(desc, of_shapes) : -1;
  if (block >= 0) {
    const size_t remarks = operand_remarks_.size();
    note(Format("{} is known: block {} runs in its place",
                desc.Input("Cond")[0], block));
    if (AddBlock(desc, {}, known, of_shapes)) return "";
    operand_remarks_.resize(remarks);
  }
  if (reason.empty()) {
    std::vector<KnownOperand> from_shapes;
    AddOp(id, WithKnownOperands(desc, known, note, &from_shapes), hints);
    if (!from_shapes.empty()) sized_operands_[id] = std::move(from_shapes);
  } else if (reason == kRunsBlocks) {
    const std::string why = AddBlockOp(id, desc, hints, known);
    return why.empty() ? "" : reason + why;
  }
  return reason;
}

// Returns why an op must wait until earlier ops have run; "" if it need not.
std::string Graph::WhyLater(const OpDesc& desc, KnownValues* known) const {
  std::string reason;
  for (const auto& [argument, vars] : desc.inputs) {
    for (const std::string& var : vars) {
      // dims() raises for a missing feed.
      if (updated_later_.count(var) > 0) {
        reason = Format("reads {}, which is updated before", var);
      }
      if (later_vars_.count(var) == 0 && dims(var).known()) continue;
      if (reason.empty()) {
        reason = Format("reads {}, whose shape is not known before", var);
      }
    }
  }
  if (!reason.empty()) return reason;
  const OpSchema& schema = Registry::Global().Schema(desc.type);
  if (schema.holds_blocks()) return kRunsBlocks;
  for (const ArgDef& def : schema.inputs()) {
    const AttrDef* attr = GivenByOperand(schema, desc, def);
    if (attr == nullptr) continue;
    const std::string& var = desc.Input(def.name)[0];
    // Values that are fed or large never become known later.
    if (LastWriter(var) < 0 || !KnownValues::IsSmall(dims(var)) ||
        known->Find(var, &reason) != nullptr) {
      continue;
    }
    return Format("takes {} from {}, which depends on data: {}", attr->name,
                  var, reason);
  }
  return "";
}

// Returns the chosen block of an `if` whose condition is known, or -1.
int Graph::TakenBlock(const OpDesc& desc, KnownValues* known) {
  if (Registry::Global().Schema(desc.type).role() != OpRole::kIf) return -1;
  std::string reason;
  const Tensor* condition = known->Find(desc.Input("Cond")[0], &reason);
  if (condition == nullptr || condition->numel() != 1) return -1;
  const IfBlocks blocks = IfBlocksOf(desc);
  return condition->data<bool>()[0] ? blocks.then_block : blocks.else_block;
}

// The most iterations of a loop that a constant of the program gives; -1 if
// none does. What feeds give is not asked for: it may differ in each run.
int64_t Graph::TripsByConstant(const OpDesc& desc, KnownValues* known) const {
  const bool loops =
      Registry::Global().Schema(desc.type).role() == OpRole::kLoop;
  if (!loops || desc.Input("MaxTrips").empty()) return -1;
  const std::string& var = desc.Input("MaxTrips")[0];
  const int writer = LastWriter(var);
  if (writer < 0 || !op(writer).inputs.empty()) return -1;
  std::string reason;
  const Tensor* value = known->Find(var, &reason);
  return value == nullptr ? -1 : value->ToVector<int64_t>().at(0);
}

// Adds a block op that runs its blocks itself. Returns "", or why it cannot:
// ", but ...".
std::string Graph::AddBlockOp(int id,
                              const OpDesc& desc,
                              const std::vector<KernelHint>& own,
                              KnownValues* known) {
  if (prepare_block_ == nullptr) return ", but not in this graph";
  // Blocks read persistable variables from the scope.
  for (const auto& [argument, vars] : desc.inputs) {
    for (const std::string& var : vars) {
      if (IsPersistable(var) && LastWriter(var) >= 0) {
        return Format(", but {} is updated before", var);
      }
    }
  }
  PreparedOp op;
  op.schema = &Registry::Global().Schema(desc.type);
  op.desc = desc;
  for (const std::string& name : FlatInputs(*op.schema, desc)) {
    op.inputs.push_back(dims(name));
    op.input_dtypes.push_back(dtype(name));
  }
  std::string reason;
  std::shared_ptr<const BlockPlans> plans;
  try {
    plans = PlanBlocks(program_, op, prepare_block_,
                       TripsByConstant(desc, known), &reason);
  } catch (const Error& error) {
    // Blocks that never run may be wrong; those that do raise then.
    if (error.code() == ErrorCode::kResourceExhausted) throw;
    reason = Format("a block cannot be prepared: {}", error.what());
  }
  if (plans == nullptr) return Format(", but {}", reason);
  op.outputs = plans->outputs;
  op.output_dtypes = plans->output_dtypes;
  op.own_kernel = MakeBlockKernel(op.desc, plans);
  blocks_.emplace_back(id, std::move(plans));
  AddPrepared(id, std::move(op), own);
  return "";
}

// Adds the ops of the block that an `if` runs, at its position; `names` maps
// variables of the outer blocks to names in this graph. Returns false and adds
// nothing if the block has ops that depend on later values, or returns values
// that would have to be copied.
bool Graph::AddBlock(const OpDesc& desc,
                     Names names,
                     KnownValues* known,
                     KnownValues* of_shapes) {
  const size_t count = ops_.size();
  const bool added = TryBlock(desc, std::move(names), known, of_shapes);
  if (!added) RemoveOpsFrom(count);
  return added;
}

template <typename Names, typename Arguments>
static void Rename(const Names& names, Arguments* arguments) {
  for (auto& [argument, vars] : *arguments) {
    for (std::string& var : vars) {
      const auto renamed = names.find(var);
      if (renamed != names.end()) var = renamed->second;
    }
  }
}

bool Graph::TryBlock(const OpDesc& desc,
                     Names names,
                     KnownValues* known,
                     KnownValues* of_shapes) {
  const IfBlocks blocks = IfBlocksOf(desc);
  const int index = TakenBlock(desc, of_shapes);
  if (index < 0) return false;
  const auto& given =
      index == blocks.then_block ? blocks.then_outputs : blocks.else_outputs;
  const BlockDesc& block = program_.blocks()[index];
  const ArgVars& outputs = desc.Output("Out");
  std::unordered_set<std::string_view> needed;
  for (size_t i = 0; i < given.size(); ++i) {
    // An outer value, or a repeated one, would have to be copied.
    const bool is_new =
        block.FindVar(given[i]) != nullptr && needed.insert(given[i]).second;
    if (!is_new) return false;
    names[given[i]] = outputs[i];
  }
  const std::string prefix = outputs.empty() ? "" : outputs[0] + "/";
  for (const VarDesc& var : block.vars()) {
    if (needed.count(var.name) == 0) {
      names[var.name] = InnerName(prefix + var.name);
    }
  }
  std::vector<int> not_needed;
  for (const int at : NeededOpsOf(block, std::move(needed), {}, &not_needed)) {
    OpDesc op = block.ops[at];
    Rename(names, &op.inputs);
    Rename(names, &op.outputs);
    const std::string reason = WhyLater(op, known);
    if (reason == kRunsBlocks &&
        Registry::Global().Schema(op.type).role() == OpRole::kIf) {
      if (!TryBlock(op, names, known, of_shapes)) return false;
      continue;
    }
    if (!reason.empty()) return false;
    const auto note = [&](const std::string& text) {
      operand_remarks_.push_back(
          Format("{} in block {}: {}", op.type, index, text));
    };
    const int added = static_cast<int>(ops_.size());
    ops_.emplace_back();
    std::vector<KnownOperand> from_shapes;
    AddOp(added, WithKnownOperands(op, known, note, &from_shapes),
          ParseKernelHints(op.hint, "op attribute"));
    chosen_by_sizes_ |= !from_shapes.empty();
    for (const DDim& dims : ops_[added].outputs) {
      if (!dims.known()) return false;
    }
  }
  return true;
}

// Removes the ops that were added last.
void Graph::RemoveOpsFrom(size_t count) {
  while (ops_.size() > count) {
    const int id = static_cast<int>(ops_.size()) - 1;
    ForgetUses(id);
    for (const auto& [argument, vars] : ops_[id].desc.outputs) {
      for (const std::string& var : vars) {
        Value& value = ValueOf(var);
        if (value.writers.empty() && !value.persistable) value.defined = false;
      }
    }
    order_.Remove(id);
    ops_.pop_back();
  }
}

// Returns a unique name for a variable of a block: `wanted`, with a number
// appended if it exists already.
std::string Graph::InnerName(const std::string& wanted) {
  std::string name = wanted;
  for (int number = 1; HasVar(name) || !inner_names_.insert(name).second;
       ++number) {
    name = Format("{}_{}", wanted, number);
  }
  return name;
}

void Graph::AddOp(int id, OpDesc desc, const std::vector<KernelHint>& own) {
  AddPrepared(id, Infer(std::move(desc)), own);
}

void Graph::AddPrepared(int id,
                        PreparedOp prepared,
                        const std::vector<KernelHint>& own) {
  ops_[id] = std::move(prepared);
  PreparedOp& op = ops_[id];
  op.id = id;
  op.covers = {id};
  SetHints(id, own);
  Define(op);
  order_.Append(id);
  NoteUses(id);
}

// Stretches before the last may not write what a later failure would have to
// restore, and the remaining ops may not change a variable that earlier ops
// have read.
void Graph::CheckLater(const std::vector<int>& later) {
  std::set<std::string_view> written;
  const auto check = [&](int id, bool is_left) {
    const OpDesc& op = Written(id);
    if (OnlyTests(op)) return;
    for (const auto& [argument, vars] : op.outputs) {
      for (const std::string& var : vars) {
        const bool updates = IsPersistable(var);
        if (updates && is_left) {
          rest_.updates = true;
          continue;
        }
        SLUICE_ENFORCE(
            !updates && written.insert(var).second, ErrorCode::kUnimplemented,
            "plan.writes_in_stretches",
            "{}, so the program runs in several stretches; then only the last "
            "one may write persistable variables, and no variable may be "
            "written twice, but op {} ({}) writes {}",
            rest_.reason, id, op.type, var);
      }
    }
  };
  for (const int id : order()) {
    check(id, false);
  }
  for (const int id : later) {
    check(id, true);
  }
}

// Finds the values to return: fetched or needed later, and known here.
void Graph::FindResults(const std::vector<std::string>& fetches,
                        const std::vector<int>& later) {
  const bool all_known =
      !rest_.updates &&
      std::all_of(fetches.begin(), fetches.end(), [&](const std::string& var) {
        return later_vars_.count(var) == 0 && dims(var).known();
      });
  if (all_known) {
    results_ = fetches;
    return;
  }
  const auto give = [&](const std::string& var) {
    ValueOf(var).fetched = true;
    if (std::find(results_.begin(), results_.end(), var) == results_.end()) {
      results_.push_back(var);
    }
  };
  for (const std::string& var : fetches) {
    if (later_vars_.count(var) == 0) {
      give(var);
    } else {
      ValueOf(var).fetched = false;
      rest_.fetches.push_back(var);
    }
  }
  std::set<std::string_view> made_by_blocks;
  for (const int id : later) {
    const OpDesc& desc = program_.block().ops[id];
    bool ready = Registry::Global().Schema(desc.type).holds_blocks();
    for (const auto& [argument, vars] : desc.inputs) {
      for (const std::string& var : vars) {
        ready &= later_vars_.count(var) == 0;
      }
    }
    if (ready) {
      rest_.block_ops.push_back(id);
      for (const auto& [argument, vars] : desc.outputs) {
        made_by_blocks.insert(vars.begin(), vars.end());
      }
    }
    for (const auto& [argument, vars] : desc.inputs) {
      for (const std::string& var : vars) {
        const bool here = later_vars_.count(var) == 0;
        if (here && IsPersistable(var)) continue;
        if (here && LastWriter(var) >= 0) give(var);
        auto& next = rest_.feeds;
        const bool known = here || made_by_blocks.count(var) > 0;
        if (known && !ready &&
            std::find(next.begin(), next.end(), var) == next.end()) {
          next.push_back(var);
        }
      }
    }
  }
}

// Removes the ops whose values nothing reads: only operands were set by them,
// or only their shapes matter.
void Graph::DropUnread() {
  written_order_ = order_.ids();
  for (size_t i = written_order_.size(); i-- > 0;) {
    const int id = written_order_[i];
    bool needed = ops_[id].schema->holds_blocks();
    for (const auto& [argument, vars] : ops_[id].desc.outputs) {
      for (const std::string& var : vars) {
        const Value& value = ValueOf(var);
        needed |= value.fetched || value.persistable || !value.readers.empty();
      }
    }
    if (needed) continue;
    ForgetUses(id);
    order_.Remove(id);
    unread_.push_back(id);
  }
  std::reverse(unread_.begin(), unread_.end());
}

// Walks back from wanted and persistable variables; values of an earlier plan
// are not computed again.
std::vector<int> Graph::NeededOpsOf(
    const BlockDesc& block,
    std::unordered_set<std::string_view> wanted,
    const std::unordered_set<std::string_view>& known,
    std::vector<int>* not_needed) const {
  std::vector<int> order;
  for (size_t i = block.ops.size(); i-- > 0;) {
    const OpDesc& op = block.ops[i];
    bool runs = false;
    const bool updates = !OnlyTests(op);
    for (const auto& [argument, vars] : op.outputs) {
      for (const std::string& var : vars) {
        const bool is_wanted =
            wanted.erase(var) > 0 || (updates && IsPersistable(var));
        runs |= is_wanted && known.count(var) == 0;
      }
    }
    (runs ? order : *not_needed).push_back(static_cast<int>(i));
    if (!runs) continue;
    for (const auto& [argument, vars] : op.inputs) {
      wanted.insert(vars.begin(), vars.end());
    }
  }
  std::reverse(order.begin(), order.end());
  std::reverse(not_needed->begin(), not_needed->end());
  return order;
}

}  // namespace sluice
