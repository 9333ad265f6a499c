#include "sluice/framework/program/gradient_ops.h"

#include <algorithm>
#include <utility>

#include "sluice/framework/op/op_check.h"
#include "sluice/framework/op/registry.h"
#include "sluice/platform/error.h"
#include "sluice/platform/foreign.h"

namespace sluice {

namespace {

const std::string& TypeOf(OpRole role) {
  return Registry::Global().OpFor(role).name();
}

bool Contains(const ArgVars& vars, const std::string& var) {
  return std::find(vars.begin(), vars.end(), var) != vars.end();
}

// Gives a gradient op the operands of the forward op for the attributes that
// both have.
void PassOperands(const OpDesc& forward, OpDesc* gradient) {
  const OpSchema& schema = Registry::Global().Schema(forward.type);
  const OpSchema& gradient_schema = Registry::Global().Schema(gradient->type);
  for (const ArgDef& def : schema.inputs()) {
    const AttrDef* attr = GivenByOperand(schema, forward, def);
    if (attr == nullptr || gradient_schema.FindAttr(attr->name) == nullptr ||
        !gradient->Input(def.name).empty()) {
      continue;
    }
    const ArgDef* same = gradient_schema.FindInput(def.name);
    SLUICE_ENFORCE(
        same != nullptr && same->attribute == def.attribute,
        ErrorCode::kUnimplemented, "backward.operand",
        "{}: there is no gradient where input {} gives attribute {}, because "
        "{} has no such input; give the attribute itself",
        forward.type, def.name, def.attribute, gradient->type);
    gradient->inputs.emplace_back(def.name, forward.Input(def.name));
  }
}

// Whether output `argument` has the rows of another one, a sparse gradient.
bool HasRows(const OpSchema& schema, const std::string& argument) {
  return std::any_of(
      schema.outputs().begin(), schema.outputs().end(),
      [&](const ArgDef& def) { return def.sparse_rows == argument; });
}

std::vector<OpDesc> CallGradient(OpSchema::GradientFn gradient,
                                 const OpDesc& forward) try {
  return gradient(forward);
} catch (...) {
  RethrowForeign(Format("{}: its gradient function", forward.type));
}

// Placeholder for an unwanted output, so that later ones keep their positions.
const char* const kUnused = "";

}  // namespace

void GradientOps::Seed(int value, const std::string& gradient) {
  contributions_[value].push_back({kExists, gradient});
}

void GradientOps::Make() {
  std::vector<int> last;  // no op leads from them to another target
  for (const auto& [value, uses] : contributions_) {
    if (flow_.FirstReader(value) < 0) last.push_back(value);
  }
  for (const int value : last) {
    Finish(value, {});
  }
  for (int i = static_cast<int>(block_.ops.size()) - 1; i >= 0; --i) {
    origin_ = i;
    AddGradientsOf(i);
    for (const int input : values_.op(i).inputs) {
      if (flow_.FirstReader(input) == i) Finish(input, block_.ops[i].location);
    }
  }
}

std::optional<OpDesc> GradientOps::Take(
    int value, const std::function<bool(const OpDesc&)>& wanted) {
  const std::string var = GradOf(value);
  const auto has = [&](const auto& arguments) {
    return std::any_of(
        arguments.begin(), arguments.end(),
        [&](const auto& argument) { return Contains(argument.second, var); });
  };
  const auto made =
      std::find_if(ops_.begin() + static_cast<ptrdiff_t>(flushed_), ops_.end(),
                   [&](const OpDesc& op) { return has(op.outputs); });
  if (made == ops_.end() || made->outputs.size() != 1 ||
      made->outputs[0].second.size() != 1 || !wanted(*made) ||
      std::any_of(ops_.begin(), ops_.end(),
                  [&](const OpDesc& op) { return has(op.inputs); })) {
    return {};
  }
  OpDesc op = std::move(*made);
  origins_.erase(origins_.begin() + (made - ops_.begin()));
  ops_.erase(made);
  grads_.erase(value);
  taken_.erase(var);
  return op;
}

bool GradientOps::Makes(const std::string& var) const {
  const auto block = static_cast<size_t>(program_->current_block());
  return program_->blocks()[block].FindVar(var) != nullptr ||
         std::any_of(ops_.begin(), ops_.end(), [&](const OpDesc& op) {
           return std::any_of(op.outputs.begin(), op.outputs.end(),
                              [&](const auto& output) {
                                return Contains(output.second, var);
                              });
         });
}

std::string GradientOps::GradOf(int value) const {
  const auto found = grads_.find(value);
  return found == grads_.end() ? "" : found->second;
}

GradientOps::Context GradientOps::ContextOf(int index) const {
  Context context{index, block_.ops[index], {}, {}};
  for (const int value : values_.op(index).inputs) {
    context.inputs[GradName(values_.value(value).var->name)] = value;
  }
  for (const int value : values_.op(index).outputs) {
    context.outputs[GradName(values_.value(value).var->name)] = value;
  }
  return context;
}

void GradientOps::AddGradientsOf(int index) {
  const std::vector<int>& outputs = values_.op(index).outputs;
  const bool any = std::any_of(outputs.begin(), outputs.end(), [&](int value) {
    return grads_.count(value) > 0;
  });
  if (!any) return;
  const Context context = ContextOf(index);
  if (Registry::Global().Schema(context.forward.type).holds_blocks()) {
    AddBlockGradients(context);
    return;
  }
  Names made;
  for (OpDesc& op : NeededOps(context)) {
    Translate(context, std::move(op), &made);
  }
}

// Returns the gradient ops with a nonzero input and a needed output; unneeded
// outputs are dropped. The ops may use each other's outputs.
std::vector<OpDesc> GradientOps::NeededOps(const Context& context) const {
  const auto gradient =
      Registry::Global().Schema(context.forward.type).gradient_fn();
  if (gradient == nullptr) return {};
  std::vector<OpDesc> ops;
  std::set<std::string> made;
  for (OpDesc& op : CallGradient(gradient, context.forward)) {
    if (!HasInput(context, op, made)) continue;
    for (const auto& [argument, vars] : op.outputs) {
      made.insert(vars.begin(), vars.end());
    }
    ops.push_back(std::move(op));
  }
  std::set<std::string> read;
  std::vector<OpDesc> needed;
  for (size_t i = ops.size(); i-- > 0;) {
    OpDesc& op = ops[i];
    const OpSchema& schema = Registry::Global().Schema(op.type);
    bool any_output = false;
    std::erase_if(op.outputs, [&](auto& output) {
      if (HasRows(schema, output.first)) return false;
      bool any = false;
      for (std::string& var : output.second) {
        const auto input = context.inputs.find(var);
        if ((input != context.inputs.end() && flow_.Needs(input->second)) ||
            read.count(var) > 0) {
          any = true;
        } else {
          var = kUnused;
        }
      }
      any_output = any_output || any;
      return !any;
    });
    if (!any_output) continue;
    PassOperands(context.forward, &op);
    for (const auto& [argument, vars] : op.inputs) {
      read.insert(vars.begin(), vars.end());
    }
    needed.push_back(std::move(op));
  }
  std::reverse(needed.begin(), needed.end());
  return needed;
}

// Returns false when all gradients that the op reads are zero.
bool GradientOps::HasInput(const Context& context,
                           const OpDesc& op,
                           const std::set<std::string>& made) const {
  bool reads_gradients = false;
  for (const auto& [argument, vars] : op.inputs) {
    for (const std::string& var : vars) {
      const auto output = context.outputs.find(var);
      if (output == context.outputs.end()) {
        if (made.count(var) > 0) return true;
        continue;
      }
      if (grads_.count(output->second) > 0) return true;
      reads_gradients = true;
    }
  }
  return !reads_gradients;
}

void GradientOps::Translate(const Context& context, OpDesc op, Names* made) {
  for (auto& [argument, vars] : op.inputs) {
    vars = TranslateInput(context, op, argument, vars, *made);
  }
  std::erase_if(op.inputs, [](auto& input) { return input.second.empty(); });
  for (auto& [argument, vars] : op.outputs) {
    for (std::string& var : vars) {
      const std::string name = TranslateOutput(context, var);
      if (var != kUnused) (*made)[var] = name;
      var = name;
    }
  }
  if (op.location.file.empty()) op.location = context.forward.location;
  NoteSparse(op);
  Add(std::move(op));
}

// Notes which contributions of an op that is added next are sparse.
void GradientOps::NoteSparse(const OpDesc& op) {
  for (const ArgDef& def : Registry::Global().Schema(op.type).outputs()) {
    if (def.sparse_rows.empty() || op.Output(def.name).empty()) continue;
    for (auto& [value, uses] : contributions_) {
      for (Use& use : uses) {
        if (use.op == ops_.size() && use.name == op.Output(def.name)[0]) {
          use.rows = op.Output(def.sparse_rows)[0];
        }
      }
    }
  }
}

ArgVars GradientOps::TranslateInput(const Context& context,
                                    const OpDesc& op,
                                    const std::string& argument,
                                    const ArgVars& vars,
                                    const Names& made) {
  const ArgDef* def = Registry::Global().Schema(op.type).FindInput(argument);
  const ArgTraits traits = def == nullptr ? ArgTraits() : def->traits;
  ArgVars names;
  std::vector<const VarDesc*> missing(vars.size());
  for (size_t i = 0; i < vars.size(); ++i) {
    const auto output = context.outputs.find(vars[i]);
    const auto passed = made.find(vars[i]);
    if (output != context.outputs.end()) {
      names.push_back(GradOf(output->second));
      if (names[i].empty()) missing[i] = values_.value(output->second).var;
    } else if (passed != made.end()) {
      names.push_back(passed->second);
    } else {
      const VarDesc* var = block_.FindVar(vars[i]);
      if (var != nullptr && !(traits.shape_only && var->persistable)) {
        CheckNotOverwritten(context, argument, vars[i]);
      }
      names.push_back(vars[i]);
    }
  }
  const auto present = std::count(missing.begin(), missing.end(), nullptr);
  if (present == 0 && traits.optional) return {};
  for (size_t i = 0; i < names.size(); ++i) {
    if (missing[i] == nullptr) continue;
    names[i] = Fill(GradName(missing[i]->name) + "@ZERO", *missing[i], 0,
                    context.forward.location);
  }
  return names;
}

std::string GradientOps::TranslateOutput(const Context& context,
                                         const std::string& var) {
  if (var == kUnused) {
    return NewName(context.forward.type + "@UNUSED");
  }
  const auto input = context.inputs.find(var);
  if (input == context.inputs.end() || !flow_.Needs(input->second)) {
    return NewName(var);
  }
  std::vector<Use>& uses = contributions_[input->second];
  std::string name = NewName(Format("{}@RENAME@{}", var, uses.size()));
  uses.push_back({ops_.size(), name});
  return name;
}

void GradientOps::CheckNotOverwritten(const Context& context,
                                      const std::string& argument,
                                      const std::string& var) const {
  const OpDesc& forward = context.forward;
  const auto is_output = [&](const auto& output) {
    return Contains(output.second, var);
  };
  bool output = Contains(forward.Output(argument), var);
  if (!output && !Contains(forward.Input(argument), var)) {
    output =
        std::any_of(forward.outputs.begin(), forward.outputs.end(), is_output);
  }
  const int wanted = output ? values_.After(context.index, var)
                            : values_.Before(context.index, var);
  const int latest = values_.Latest(var);
  if (wanted == latest) return;
  const int writer = values_.value(latest).writer;
  const OpDesc& overwrites = block_.ops[writer];
  Fail(ErrorCode::kInvalidArgument, "backward.overwritten",
       "the gradient of op {} ({}) needs variable {} as the op saw "
       "it, but op {} ({}{}) overwrites it; let that write another "
       "variable",
       context.index, forward.type, var, writer, overwrites.type,
       overwrites.purpose == OpPurpose::kOptimize ? ", an optimizer's step"
                                                  : "");
}

void GradientOps::Add(OpDesc op) {
  op.purpose = OpPurpose::kBackward;
  ops_.push_back(std::move(op));
  origins_.push_back(origin_);
}

std::string GradientOps::Add(const std::string& type,
                             const std::string& name,
                             Program::ArgList inputs,
                             AttributeMap attributes,
                             const SourceLocation& location) {
  OpDesc op;
  op.type = type;
  op.location = location;
  op.inputs = std::move(inputs);
  op.attributes = std::move(attributes);
  std::string output = NewName(name);
  op.outputs = {{"Out", {output}}};
  Add(std::move(op));
  return output;
}

std::string GradientOps::Fill(const std::string& name,
                              const VarDesc& like,
                              double value,
                              const SourceLocation& location) {
  Program::ArgList inputs;
  AttributeMap attributes = {{"dtype", like.dtype}, {"value", value}};
  if (like.dims.known()) {
    attributes["shape"] =
        std::vector<int64_t>(like.dims.begin(), like.dims.end());
  } else {
    const std::string shape = Add(TypeOf(OpRole::kShape), like.name + "@SHAPE",
                                  {{"X", {like.name}}}, {}, location);
    inputs = {{"Shape", {shape}}};
  }
  return Add(TypeOf(OpRole::kFill), name, std::move(inputs),
             std::move(attributes), location);
}

std::string GradientOps::Sum(const std::string& name,
                             ArgVars parts,
                             const SourceLocation& location) {
  return Add(TypeOf(OpRole::kSum), name, {{"X", std::move(parts)}}, {},
             location);
}

const OpDesc* GradientOps::GradientOp(const std::string& var) const {
  const auto found = flow_.gradient_ops().find(var);
  const auto block = static_cast<size_t>(level_->forward);
  return found == flow_.gradient_ops().end() ||
                 program_->blocks()[block].FindVar(var) == nullptr
             ? nullptr
             : &found->second;
}

std::string GradientOps::Through(const std::string& var,
                                 const std::string& gradient,
                                 const SourceLocation& location) {
  const OpDesc* const through = GradientOp(var);
  if (through == nullptr) return gradient;
  return Add(through->type, GradName(var), {{"X", {gradient}}},
             through->attributes, location);
}

// Replaces a sparse contribution by a dense one.
void GradientOps::MakeDense(const std::string& like,
                            const SourceLocation& location,
                            Use* use) {
  if (use->rows.empty()) return;
  const std::string dense =
      Add(TypeOf(OpRole::kDense), use->name + "@DENSE",
          {{"X", {use->name}}, {"Rows", {use->rows}}, {"Like", {like}}}, {},
          location);
  *use = {ops_.size() - 1, dense};
}

// Only a parameter's gradient is of use to nothing but updates.
bool GradientOps::StaysSparse(int value) const {
  const std::vector<Use>& uses = contributions_.find(value)->second;
  return level_->sparse && values_.value(value).var->persistable &&
         std::none_of(uses.begin(), uses.end(),
                      [](const Use& use) { return use.rows.empty(); });
}

// Called when all contributions to the gradient of `value` exist.
void GradientOps::Finish(int value, const SourceLocation& location) {
  const auto found = contributions_.find(value);
  if (found == contributions_.end()) return;
  std::vector<Use>& uses = found->second;
  const std::string& var = values_.value(value).var->name;
  const bool whole = GradientOp(var) == nullptr;
  const std::string name = GradName(var) + (whole ? "" : "@WHOLE");
  const bool sparse = whole && StaysSparse(value);
  ArgVars parts;
  ArgVars rows;
  for (Use& use : uses) {
    if (!sparse) MakeDense(var, location, &use);
    parts.push_back(use.name);
    rows.push_back(use.rows);
  }
  if (uses.size() > 1 && sparse) {
    const auto join = [&](const std::string& joined, ArgVars vars) {
      return Add(TypeOf(OpRole::kJoin), joined, {{"X", std::move(vars)}},
                 {{"axis", int64_t{0}}}, location);
    };
    grads_[value] = join(name, std::move(parts));
    rows_[grads_[value]] = join(name + "@ROWS", std::move(rows));
  } else if (uses.size() > 1) {
    grads_[value] = Sum(name, std::move(parts), location);
  } else if (uses[0].op == kExists || uses[0].op < flushed_) {
    grads_[value] = uses[0].name;
  } else {
    grads_[value] = NewName(name);
    Rename(uses[0], grads_[value]);
  }
  grads_[value] = Through(var, grads_[value], location);
  contributions_.erase(found);
}

// Other gradient ops of the same forward op may read the variable as well.
void GradientOps::Rename(const Use& use, const std::string& name) {
  const auto rename = [&](auto* arguments) {
    for (auto& [argument, vars] : *arguments) {
      std::replace(vars.begin(), vars.end(), use.name, name);
    }
  };
  for (size_t i = use.op; i < ops_.size(); ++i) {
    if (origins_[i] != origins_[use.op]) break;
    rename(&ops_[i].inputs);
    rename(&ops_[i].outputs);
  }
  taken_.erase(use.name);
}

// Returns `name`, with a number appended if it is taken.
std::string GradientOps::NewName(const std::string& name) {
  const auto is_taken = [&](const std::string& free) {
    return taken_.count(free) > 0 ||
           std::any_of(program_->blocks().begin(), program_->blocks().end(),
                       [&](const BlockDesc& block) {
                         return block.FindVar(free) != nullptr;
                       });
  };
  std::string free = name;
  for (int i = 1; is_taken(free); ++i) {
    free = Format("{}@{}", name, i);
  }
  taken_.insert(free);
  return free;
}

// Whether the shape of `var`, of the forward block, is known where gradients
// are written once ops of that block are repeated there; adds their indices to
// `writers`. `read` has what gradients read anyway.
bool GradientOps::FindRepeats(const std::string& var,
                              const std::set<std::string>& read,
                              std::set<int>* writers) const {
  if (program_->HasVar(var) || read.contains(var)) return true;
  const auto forward = static_cast<size_t>(level_->forward);
  const VarDesc* own = program_->blocks()[forward].FindVar(var);
  if (own == nullptr || own->is_data) return own != nullptr;
  const int latest = values_.Latest(var);
  const int writer = latest < 0 ? -1 : values_.value(latest).writer;
  if (writer < 0) return false;
  const OpDesc& op = block_.ops[static_cast<size_t>(writer)];
  const OpSchema& schema = Registry::Global().Schema(op.type);
  if (schema.holds_blocks() || schema.random()) return false;
  for (const auto& [argument, vars] : op.outputs) {
    for (const std::string& output : vars) {
      if (program_->HasVar(output) || read.contains(output) ||
          values_.value(values_.Before(writer, output)).writer >= 0) {
        return false;
      }
    }
  }
  if (!writers->insert(writer).second) return true;
  for (const auto& [argument, vars] : op.inputs) {
    if (!schema.FindInput(argument)->attribute.empty()) return false;
    for (const std::string& input : vars) {
      if (values_.Before(writer, input) != values_.Latest(input) ||
          !FindRepeats(input, read, writers)) {
        return false;
      }
    }
  }
  return true;
}

// A loop need not keep what its gradient reads the shape of alone: the op that
// computes it is repeated in the gradient's block instead, where it does not
// run, because nothing reads its data.
void GradientOps::RepeatForShapes(const OpDesc& op,
                                  const std::set<std::string>& read) {
  const OpSchema& schema = Registry::Global().Schema(op.type);
  for (const auto& [argument, vars] : op.inputs) {
    if (!schema.FindInput(argument)->traits.shape_only) continue;
    for (const std::string& var : vars) {
      std::set<int> writers;
      if (!FindRepeats(var, read, &writers)) continue;
      for (const int writer : writers) {
        OpDesc repeated = block_.ops[static_cast<size_t>(writer)];
        repeated.purpose = OpPurpose::kBackward;
        DeclareSaved(program_, level_, repeated);
        program_->AppendOp(std::move(repeated));
      }
    }
  }
}

void GradientOps::Flush() {
  const bool same_block = level_->forward == level_->gradients;
  std::set<std::string> read;
  for (size_t i = flushed_; i < ops_.size() && !same_block; ++i) {
    const OpSchema& schema = Registry::Global().Schema(ops_[i].type);
    for (const auto& [argument, vars] : ops_[i].inputs) {
      if (schema.FindInput(argument)->traits.shape_only) continue;
      read.insert(vars.begin(), vars.end());
    }
  }
  for (; flushed_ < ops_.size(); ++flushed_) {
    if (!same_block) RepeatForShapes(ops_[flushed_], read);
    DeclareSaved(program_, level_, ops_[flushed_]);
    program_->AppendOp(ops_[flushed_]);
  }
  for (const auto& [gradient, rows] : rows_) {
    program_->SetRows(gradient, rows);
  }
  rows_.clear();
}

// Checks what the gradient of an op with blocks, added last, reads of it.
void GradientOps::CheckBlockInputs(const Context& context) const {
  const auto block = static_cast<size_t>(program_->current_block());
  for (const auto& [argument, vars] :
       program_->blocks()[block].ops.back().inputs) {
    for (const std::string& var : vars) {
      const bool known = values_.Latest(var) >= 0;
      if (known) CheckNotOverwritten(context, argument, var);
    }
  }
}

void GradientOps::AddBlockGradients(const Context& context) {
  const OpDesc& forward = context.forward;
  BlockOpGradients gradients;
  for (const auto& [argument, vars] : forward.outputs) {
    for (const std::string& var : vars) {
      gradients.of_outputs.push_back(GradOf(values_.After(context.index, var)));
    }
  }
  std::vector<int> inputs;
  for (const auto& [argument, vars] : forward.inputs) {
    for (const std::string& var : vars) {
      inputs.push_back(values_.Before(context.index, var));
      gradients.wanted.push_back(flow_.Needs(inputs.back()));
    }
  }
  Flush();
  AddBlockOpGradients(program_, level_, context.index, flow_, &gradients);
  CheckBlockInputs(context);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = gradients.of_inputs[i];
    if (!name.empty()) contributions_[inputs[i]].push_back({kExists, name});
  }
}

}  // namespace sluice
