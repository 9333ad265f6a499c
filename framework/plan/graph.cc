#include "sluice/framework/plan/graph.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "sluice/framework/choice/hint_names.h"
#include "sluice/framework/choice/resolver.h"
#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/op_check.h"
#include "sluice/framework/plan/feed_check.h"
#include "sluice/framework/plan/known_values.h"
#include "sluice/platform/error.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {

namespace {

std::string After(const std::string& location) {
  return location.empty() ? location : ", " + location;
}

}  // namespace

void Graph::SetHints(int id, const std::vector<KernelHint>& own) {
  PreparedOp& op = ops_[id];
  for (const KernelHint& hint : own) {
    op.all_hints.push_back(&op_hints_.emplace_back(hint));
  }
  for (const KernelHint& hint : hints_) {
    if (hint.Matches(op.desc, id)) op.all_hints.push_back(&hint);
  }
  op.hints = op.all_hints;
}

// Whether a hint may wait for later passes. A hint about a place may not: the
// place of an op decides which passes apply to it.
static bool CanWait(const KernelHint& hint) {
  return hint.Wants() && hint.place.empty();
}

// Whether a kernel of the op in its current form matches a hint.
bool Graph::CanObey(const PreparedOp& op, const KernelHint& hint) {
  OpFacts facts = op;
  facts.hints = {&hint};
  const Candidate* candidate = Predict(facts);
  return candidate != nullptr && HintFits(hint, *candidate->kernel,
                                          candidate->place, LayoutOf(op.desc));
}

// Removes the hints that the op in its current form does not obey: those that
// it may obey after later passes, and preferences that conflict with a stronger
// hint or that none of its ops can obey. Returns false if there are none.
bool Graph::LetHintsWait(PreparedOp* op) {
  if (vetoes_ == nullptr) return false;
  const Candidate* choice = op->chosen < 0 ? nullptr : &op->choice();
  const auto obeys = [&](const KernelHint& hint) {
    return choice == nullptr ? CanObey(*op, hint)
                             : HintFits(hint, *choice->kernel, choice->place,
                                        op->list->layout);
  };
  const auto waits = [&](const KernelHint* hint) {
    if (!hint->Wants() || obeys(*hint)) return false;
    return std::none_of(op->covers.begin(), op->covers.end(), [&](int covered) {
      if (CanWait(*hint)) {
        return vetoes_->count({covered, ToString(*hint)}) > 0;
      }
      return hint->mode == HintMode::kRequire ||
             NamesKernelOf(*hint, Written(covered).type, op->dtype);
    });
  };
  std::vector<const KernelHint*> counting;
  std::remove_copy_if(op->hints.begin(), op->hints.end(),
                      std::back_inserter(counting), waits);
  const bool some = counting.size() < op->hints.size();
  op->hints = std::move(counting);
  op->list.reset();
  op->chosen = -1;
  return some;
}

HintsOfOps Graph::EndPasses() {
  pass_.clear();
  HintsOfOps unmet;
  for (const int id : order()) {
    PreparedOp& op = ops_[id];
    if (op.hints != op.all_hints) {
      op.hints = op.all_hints;
      op.list.reset();
    }
    for (const KernelHint* hint : op.hints) {
      if (!CanWait(*hint) || CanObey(op, *hint)) continue;
      for (const int covered : op.covers) {
        const std::pair key(covered, ToString(*hint));
        // An unmet requirement fails later, when kernels are chosen.
        const bool to_give_up = vetoes_ != nullptr && vetoes_->count(key) > 0 &&
                                hint->mode == HintMode::kPrefer;
        const OpDesc& written = Written(covered);
        const bool may_obey_apart =
            op.covers.size() > 1 && hint->Matches(written, covered) &&
            NamesKernelOf(*hint, written.type, op.dtype);
        if (!to_give_up && !may_obey_apart) continue;
        unmet[key] = to_give_up ? WhyNotObeyed(&lister_, op, *hint) : WhyNot();
      }
    }
  }
  return unmet;
}

Graph::Value& Graph::ValueOf(const std::string& var) {
  const auto [position, added] = values_.try_emplace(var);
  if (added) {
    const VarDesc* desc = program_.block().FindVar(var);
    position->second.persistable = desc != nullptr && desc->persistable;
  }
  return position->second;
}

const Graph::Value* Graph::FindValue(const std::string& var) const {
  const auto found = values_.find(var);
  return found == values_.end() ? nullptr : &found->second;
}

// Whether the program leaves a size of a variable open that is not 0 or 1 here.
bool Graph::IsOpen(const std::string& name, const DDim& dims) const {
  const VarDesc* var = program_.block().FindVar(name);
  if (var == nullptr || !var->dims.rank_known() || !dims.rank_known() ||
      var->dims.rank() != dims.rank()) {
    return false;
  }
  for (int axis = 0; axis < dims.rank(); ++axis) {
    if (var->dims[axis] == kUnknownDim && dims[axis] > 1) return true;
  }
  return false;
}

PreparedOp Graph::Infer(OpDesc desc) const {
  PreparedOp op;
  op.schema = &Registry::Global().Schema(desc.type);
  CompleteOp(*op.schema, &desc);
  op.desc = std::move(desc);
  for (const std::string& name : FlatInputs(*op.schema, op.desc)) {
    op.inputs.push_back(dims(name));
    op.input_dtypes.push_back(dtype(name));
    op.sizes_change |= IsOpen(name, op.inputs.back());
  }
  const BoundTypes types(*op.schema, op.desc, op.input_dtypes);
  op.dtype = types.KernelDType();
  const auto shapes =
      InferShapes(*op.schema, op.desc, op.inputs, op.input_dtypes);
  for (size_t i = 0; i < shapes.size(); ++i) {
    const ArgDef& def = op.schema->outputs()[i];
    for (const DDim& dims : shapes[i]) {
      // numel() detects an overflow here, before anything is allocated. Unknown
      // sizes depend on data: the kernel determines them.
      if (dims.known()) dims.numel();
      op.outputs.push_back(dims);
      op.output_dtypes.push_back(types.Of(def));
    }
  }
  return op;
}

void Graph::Define(const PreparedOp& op) {
  size_t flat = 0;
  for (const auto& [argument, vars] : op.desc.outputs) {
    for (const std::string& var : vars) {
      Value& value = ValueOf(var);
      value.dims = op.outputs[flat];
      value.dtype = op.output_dtypes[flat];
      value.defined = true;
      ++flat;
    }
  }
}

void Graph::NoteUses(int id) {
  const PreparedOp& op = ops_[id];
  for (const ArgDef& def : op.schema->inputs()) {
    if (def.traits.shape_only) continue;
    for (const std::string& var : op.desc.Input(def.name)) {
      ValueOf(var).readers.insert(id);
    }
  }
  for (const auto& [argument, vars] : op.desc.outputs) {
    for (const std::string& var : vars) {
      Value& value = ValueOf(var);
      if (value.persistable && value.writers.empty()) {
        // The kernels of its readers were chosen for a constant.
        for (const int reader : value.readers) {
          ops_[reader].kernel.reset();
          ops_[reader].list.reset();
        }
      }
      value.writers.insert(id);
    }
  }
}

void Graph::ForgetUses(int id) {
  const OpDesc& op = ops_[id].desc;
  for (const auto& [argument, vars] : op.inputs) {
    for (const std::string& var : vars) {
      ValueOf(var).readers.erase(id);
    }
  }
  for (const auto& [argument, vars] : op.outputs) {
    for (const std::string& var : vars) {
      ValueOf(var).writers.erase(id);
    }
  }
}

bool Graph::IsFetched(const std::string& var) const {
  const Value* value = FindValue(var);
  return value != nullptr && value->fetched;
}

bool Graph::IsPersistable(const std::string& var) const {
  if (const Value* value = FindValue(var)) return value->persistable;
  const VarDesc* desc = program_.block().FindVar(var);
  return desc != nullptr && desc->persistable;
}

bool Graph::IsConstant(const std::string& var) const {
  const Value* value = FindValue(var);
  return IsPersistable(var) && (value == nullptr || value->writers.empty());
}

bool Graph::IsInternal(const std::string& var) const {
  return Writer(var) >= 0 && !IsFetched(var) && !IsPersistable(var);
}

int Graph::Writer(const std::string& var) const {
  const Value* value = FindValue(var);
  return value != nullptr && value->writers.size() == 1
             ? *value->writers.begin()
             : -1;
}

int Graph::LastWriter(const std::string& var, int before) const {
  const Value* value = FindValue(var);
  int last = -1;
  if (value == nullptr) return last;
  for (const int writer : value->writers) {
    if (before >= 0 && !order_.Precedes(writer, before)) continue;
    if (last < 0 || order_.Precedes(last, writer)) last = writer;
  }
  return last;
}

std::vector<int> Graph::Readers(const std::string& var) const {
  const Value* value = FindValue(var);
  if (value == nullptr) return {};
  std::vector<int> in_order(value->readers.begin(), value->readers.end());
  std::sort(in_order.begin(), in_order.end(),
            [&](int a, int b) { return order_.Precedes(a, b); });
  return in_order;
}

std::optional<int> Graph::OnlyReader(const std::string& var) const {
  if (!IsInternal(var)) return std::nullopt;
  const Value* value = FindValue(var);
  if (value->readers.size() != 1) return std::nullopt;
  return *value->readers.begin();
}

const DDim& Graph::dims(const std::string& var) const {
  const Value* value = FindValue(var);
  if (value != nullptr && value->defined) return value->dims;
  const VarDesc& desc = program_.FindVar(var);
  // A variable that no op has written by now is either fed or persistable.
  SLUICE_ENFORCE(desc.persistable, ErrorCode::kNotFound, "feed.missing",
                 "{} ({} {}{}) must be fed{}", var, desc.dtype, desc.dims,
                 After(DescribeLocation(program_.LocationOfData(var))),
                 desc.is_data ? ""
                              : ": no op of this program computes it (one that "
                                "was cloned for testing has no backward ops)");
  return desc.dims;
}

DType Graph::dtype(const std::string& var) const {
  const Value* value = FindValue(var);
  return value != nullptr && value->defined ? value->dtype
                                            : program_.FindVar(var).dtype;
}

std::vector<const KernelHint*> Graph::HintsFor(
    const std::vector<int>& ids) const {
  std::vector<const KernelHint*> hints;
  for (const int id : ids) {
    for (const KernelHint* hint : ops_[id].all_hints) {
      const auto same = [&](const KernelHint* other) {
        return other == hint || ToString(*other) == ToString(*hint);
      };
      if (std::none_of(hints.begin(), hints.end(), same)) hints.push_back(hint);
    }
  }
  return hints;
}

// Returns the hints for an op that replaces `ids`: first those that match it in
// its current form, then those about the ops.
std::vector<const KernelHint*> Graph::HintsForReplacement(
    const OpDesc& op, int kept, const std::vector<int>& ids) const {
  const std::vector<const KernelHint*> of_ops = HintsFor(ids);
  std::vector<int> covers;
  for (const int id : ids) {
    covers.insert(covers.end(), ops_[id].covers.begin(), ops_[id].covers.end());
  }
  std::sort(covers.begin(), covers.end());
  std::vector<std::string> types;
  types.reserve(covers.size());
  for (const int covered : covers) {
    types.push_back(Written(covered).type);
  }
  const std::string name = CallName(types);
  std::vector<const KernelHint*> hints;
  for (const KernelHint& hint : hints_) {
    if ((hint.Matches(op, kept) || hint.selector == name) &&
        std::find(of_ops.begin(), of_ops.end(), &hint) == of_ops.end()) {
      hints.push_back(&hint);
    }
  }
  hints.insert(hints.end(), of_ops.begin(), of_ops.end());
  return hints;
}

// Returns the hints for an op that is in no program: those that match its type
// or all ops, except for layouts and for variants that it lacks.
std::vector<const KernelHint*> Graph::HintsForAdded(const OpDesc& op,
                                                    DType type) const {
  constexpr int kNoIndex = -1;
  std::vector<const KernelHint*> hints;
  for (const KernelHint& hint : hints_) {
    const bool known =
        hint.layout.empty() &&
        (hint.variant.empty() || NamesKernelOf(hint, op.type, type));
    if (hint.selector == "*" ? known : hint.Matches(op, kNoIndex)) {
      hints.push_back(&hint);
    }
  }
  return hints;
}

// Marks the constant inputs, given the ops that are in the graph now.
void Graph::NoteConstants(PreparedOp* op) const {
  op->input_constant.clear();
  for (const auto& [argument, vars] : op->desc.inputs) {
    for (const std::string& var : vars) {
      op->input_constant.push_back(IsConstant(var));
    }
  }
}

PreparedOp& Graph::Choose(int id) {
  PreparedOp& op = ops_[id];
  if (op.kernel == nullptr) {
    NoteConstants(&op);
    ChooseKernel(&lister_, NumThreads(), &op);
    const auto fusion = fusions_.find(id);
    if (fusion != fusions_.end()) {
      if (op.why.subject.empty()) op.why.subject = fusion->second.first;
      const std::string& times = fusion->second.second;
      const std::string now = Format("fused {},", PredictionText(op.choice()));
      const bool moved = op.covers.size() > 1 && !times.starts_with(now);
      op.reason += "; " + times + (moved ? ", in its first layout" : "");
    }
  }
  return op;
}

const Candidate* Graph::Predict(const OpFacts& facts) {
  PreparedOp op;
  static_cast<OpFacts&>(op) = facts;
  NoteConstants(&op);
  const bool found = Resolve(&lister_, &op) && op.choice().place == place_;
  return found ? &op.choice() : nullptr;
}

OpFacts Graph::FactsOf(OpDesc op) const {
  OpFacts facts = Infer(std::move(op));
  facts.hints = HintsForAdded(facts.desc, facts.dtype);
  return facts;
}

bool Graph::MayChange(int id) {
  const PreparedOp& op = ops_[id];
  const KernelHint* hint = pass_hints_.Forbids(op.desc, id);
  for (size_t i = 0; hint == nullptr && i < op.covers.size(); ++i) {
    const int covered = op.covers[i];
    hint = pass_hints_.Forbids(Written(covered), covered);
  }
  if (hint == nullptr) return true;
  NoteLeft({id}, ToString(*hint));
  return false;
}

void Graph::NoteLeft(const std::vector<int>& ids, const std::string& why) {
  std::vector<std::pair<int, std::string>> ops;
  ops.reserve(ids.size());
  for (const int id : ids) {
    ops.emplace_back(id, ops_[id].desc.type);
  }
  pass_hints_.Note(ops, why);
}

// Whether the op's choice is at the graph's place and obeys all `prefer` hints:
// otherwise the rewrite would lose a preference like a requirement.
bool Graph::Fits(const PreparedOp& op) const {
  const Candidate& choice = op.choice();
  return choice.place == place_ &&
         std::all_of(op.hints.begin(), op.hints.end(), [&](auto* hint) {
           return hint->mode != HintMode::kPrefer || op.Fits(*hint, choice);
         });
}

// Notes which hint prevents the fusion of ops into `op`.
void Graph::NoteStoppingHint(const std::vector<int>& ids,
                             const PreparedOp& op) {
  if (op.hints.empty()) return;
  OpFacts facts = op;
  facts.hints.clear();
  const Candidate* free = Predict(facts);
  if (free == nullptr) return;
  for (const KernelHint* hint : op.hints) {
    const bool fits =
        HintFits(*hint, *free->kernel, free->place, LayoutOf(op.desc));
    if (hint->mode != HintMode::kAllow && fits != hint->Wants()) {
      NoteLeft(ids, ToString(*hint));
      return;
    }
  }
}

// Whether a kernel at the graph's place accepts an op and its hints.
bool Graph::FitsHints(PreparedOp* op) {
  return Resolve(&lister_, op) && Fits(*op);
}

// Whether `op` has a kernel as a replacement of `ids`. The kernel is not made
// yet, because passes often replace an op again.
bool Graph::HasKernel(const std::vector<int>& ids, PreparedOp* op) {
  NoteConstants(op);
  if (!FitsHints(op) && !(LetHintsWait(op) && FitsHints(op))) {
    NoteStoppingHint(ids, *op);
    return false;
  }
  if (!Pays(ids, *op)) return false;
  if (!ProbeKernels(&lister_, NumThreads(), op)) {
    NoteStoppingHint(ids, *op);
    return false;
  }
  return Fits(*op);
}

// Whether an op between one of `ids` and op `kept` writes a variable that this
// one reads, and that `op` would then read after the write.
bool Graph::ChangesBefore(const std::vector<int>& ids,
                          const OpDesc& op,
                          int kept) const {
  for (const auto& [argument, vars] : op.inputs) {
    for (const std::string& var : vars) {
      const Value* value = FindValue(var);
      if (value == nullptr) continue;
      for (const int writer : value->writers) {
        for (const int id : ids) {
          if (id != writer && value->readers.count(id) > 0 &&
              order_.Precedes(id, writer) && order_.Precedes(writer, kept)) {
            return true;
          }
        }
      }
    }
  }
  return false;
}

bool Graph::Replace(const std::vector<int>& ids, OpDesc desc) {
  const bool may = std::all_of(ids.begin(), ids.end(),
                               [this](int id) { return MayChange(id); });
  if (!may) return false;
  const int kept = *std::max_element(ids.begin(), ids.end(), [&](int a, int b) {
    return order_.Precedes(a, b);
  });
  desc.purpose = ops_[kept].desc.purpose;
  PreparedOp op = Infer(std::move(desc));
  op.id = kept;
  for (const int id : ids) {
    op.covers.insert(op.covers.end(), ops_[id].covers.begin(),
                     ops_[id].covers.end());
  }
  std::sort(op.covers.begin(), op.covers.end());
  op.pass = pass_;
  op.all_hints = HintsForReplacement(op.desc, kept, ids);
  op.hints = op.all_hints;
  if (ChangesBefore(ids, op.desc, kept) || !HasKernel(ids, &op)) return false;
  for (const int id : ids) {
    ForgetUses(id);
    if (id != kept) order_.Remove(id);
  }
  Define(op);
  ops_[kept] = std::move(op);
  NoteUses(kept);
  return true;
}

// Adds an op of a pass for `neighbour`; it is not in the order yet.
int Graph::Add(int neighbour, OpDesc desc) {
  PreparedOp op = Infer(std::move(desc));
  op.hints = HintsForAdded(op.desc, op.dtype);
  for (const KernelHint* hint : HintsFor({neighbour})) {
    // Other hints of the neighbour are about kernels of another op.
    const bool known =
        std::find(op.hints.begin(), op.hints.end(), hint) != op.hints.end();
    if (!known && !hint->place.empty()) op.hints.push_back(hint);
  }
  op.all_hints = op.hints;
  op.pass = pass_;
  Define(op);
  const int id = static_cast<int>(ops_.size());
  op.id = id;
  ops_.push_back(std::move(op));
  return id;
}

int Graph::InsertBefore(int before, OpDesc desc) {
  const int id = Add(before, std::move(desc));
  order_.InsertBefore(before, id);
  NoteUses(id);
  return id;
}

int Graph::InsertAfter(int id, OpDesc desc) {
  const int added = Add(id, std::move(desc));
  order_.InsertAfter(id, added);
  NoteUses(added);
  return added;
}

void Graph::MoveAfter(int after, int id) {
  order_.Remove(id);
  order_.InsertAfter(after, id);
}

void Graph::Rewrite(int id, OpDesc desc) {
  PreparedOp op = Infer(std::move(desc));
  op.id = id;
  op.hints = std::move(ops_[id].hints);
  op.all_hints = std::move(ops_[id].all_hints);
  op.covers = std::move(ops_[id].covers);
  op.pass = std::move(ops_[id].pass);
  Define(op);
  ForgetUses(id);
  ops_[id] = std::move(op);
  NoteUses(id);
}

bool Graph::HasVar(const std::string& name) const {
  return FindValue(name) != nullptr ||
         program_.block().FindVar(name) != nullptr;
}

std::string Graph::NewName(const std::string& stem) {
  std::string name;
  do {
    name = Format("{}@{}", stem, names_++);
  } while (HasVar(name));
  return name;
}

std::vector<OpDesc> Graph::TakeDescs() {
  std::vector<OpDesc> descs(ops_.size());
  for (const int id : order()) {
    descs[id] = std::move(ops_[id].desc);
  }
  const auto& in_program = program_.block().ops;
  for (size_t id = 0; id < in_program.size(); ++id) {
    if (descs[id].type.empty()) descs[id] = in_program[id];
  }
  return descs;
}

}  // namespace sluice
