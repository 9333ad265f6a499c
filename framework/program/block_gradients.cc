#include "sluice/framework/program/block_gradients.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/program/block_ops.h"
#include "sluice/framework/program/gradient_flow.h"
#include "sluice/framework/program/gradient_ops.h"
#include "sluice/framework/program/prune.h"
#include "sluice/framework/program/value_table.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

// The name of an output of a loop that only its gradient reads has this.
constexpr const char* kSaved = "@SAVED";

bool Holds(const ArgVars& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool IsRandom(const Program& program, int block) {
  const auto& ops = program.blocks()[static_cast<size_t>(block)].ops;
  return std::any_of(ops.begin(), ops.end(), [&](const OpDesc& op) {
    const std::vector<int> blocks = BlocksOf(op);
    return Registry::Global().Schema(op.type).random() ||
           std::any_of(blocks.begin(), blocks.end(),
                       [&](int inner) { return IsRandom(program, inner); });
  });
}

void CheckRepeatable(const Program& program, const OpDesc& op, int block) {
  SLUICE_ENFORCE(
      !IsRandom(program, block), ErrorCode::kUnimplemented,
      "backward.random_block",
      "the gradient of {} computes block {} again, and its random ops would "
      "draw other numbers; draw them outside of the block",
      op.type, block);
}

// Writes the gradients of one block to another one.
class BlockWriter {
 public:
  BlockWriter(Program* program,
              GradientLevel* around,
              const SourceLocation& location,
              const GradientFlow& outer)
      : program_(program), location_(location) {
    level_.around = around;
    request_.loss = outer.loss();
    request_.stops = outer.stops();
  }

  // Sets the block whose ops get gradients.
  void SetForward(int block) {
    level_.forward = block;
    copy_ = program_->BlockProgram(block);
    values_ = std::make_unique<ValueTable>(copy_->block());
  }
  // Finds the flow from `wanted` to `targets`, variables that the block sees.
  void FindFlow(const ArgVars& targets, const ArgVars& wanted) {
    request_.targets = targets;
    request_.parameters = wanted;
    flow_ = std::make_unique<GradientFlow>(copy_->block(), *values_, request_);
  }
  // Whether a target depends on something wanted. One that the block passes on
  // unchanged may be a variable around it, which no op of it reads.
  bool Needs(const std::string& target) const {
    const int value = values_->Latest(target);
    return value < 0 ? Holds(request_.parameters, target) : flow_->Needs(value);
  }
  // Whether a target depends on what the block begins with as `wanted`.
  bool Reaches(const std::string& wanted) const {
    const auto& all = request_.parameters;
    const auto at = std::find(all.begin(), all.end(), wanted) - all.begin();
    return flow_->parameters()[static_cast<size_t>(at)] >= 0 ||
           Holds(request_.targets, wanted);
  }

  // Gradients are written to the current block from now on.
  void Begin() {
    level_.gradients = program_->current_block();
    ops_ = std::make_unique<GradientOps>(copy_->block(), *values_, *flow_,
                                         program_, &level_);
  }
  // Adds a variable to the gradient of a target.
  void Seed(const std::string& target, const std::string& gradient) {
    const int value = values_->Latest(target);
    if (value < 0) {
      passed_on_[target].push_back(gradient);
    } else {
      ops_->Seed(value, gradient);
    }
  }
  void Make() { ops_->Make(); }
  // Appends the sum of `parts` and of the gradient of what the block begins
  // with as `var`; zeros in the shape of `like` if there is neither.
  std::string Total(const std::string& var,
                    ArgVars parts,
                    const VarDesc& like) {
    const int value = values_->Before(0, var);
    const std::string grad = value < 0 ? "" : ops_->GradOf(value);
    if (!grad.empty()) parts.push_back(grad);
    const ArgVars& more = passed_on_[var];
    parts.insert(parts.end(), more.begin(), more.end());
    if (parts.empty()) return Zeros(like);
    std::string sum = ops_->Sum(GradName(var), std::move(parts), location_);
    ops_->Flush();
    return sum;
  }
  std::string Zeros(const VarDesc& like) {
    std::string zeros =
        ops_->Fill(GradName(like.name) + "@ZERO", like, 0, location_);
    ops_->Flush();
    return zeros;
  }
  // Declares a data variable of the block of gradients.
  std::string AddData(const std::string& name, const VarDesc& like) {
    return program_->Data(ops_->NewName(name), like.dtype, like.dims, "", 0)
        .name();
  }
  std::string NewName(const std::string& name) { return ops_->NewName(name); }
  ArgVars* saved() { return &level_.saved; }

 private:
  Program* program_;
  SourceLocation location_;
  GradientLevel level_;
  GradientFlow::Request request_;
  std::shared_ptr<const Program> copy_;
  std::unique_ptr<ValueTable> values_;
  std::unique_ptr<GradientFlow> flow_;
  std::unique_ptr<GradientOps> ops_;
  std::map<std::string, ArgVars> passed_on_;
};

// The op, and what is asked of its gradient.
struct OpRequest {
  Program* program;
  GradientLevel* level;
  int index;
  const GradientFlow& flow;  // of the block that the op is in
  BlockOpGradients* gradients;
  OpDesc op;

  // The position of an argument's first variable among all.
  static size_t First(const Program::ArgList& arguments,
                      std::string_view argument) {
    size_t first = 0;
    for (const auto& [name, vars] : arguments) {
      if (name == argument) break;
      first += vars.size();
    }
    return first;
  }
  bool Wanted(std::string_view argument, size_t i) const {
    return gradients->wanted[First(op.inputs, argument) + i];
  }
  const std::string& OutputGrad(std::string_view argument, size_t i) const {
    return gradients->of_outputs[First(op.outputs, argument) + i];
  }
  void Give(std::string_view argument, size_t i, std::string grad) const {
    gradients->of_inputs[First(op.inputs, argument) + i] = std::move(grad);
  }
  const VarDesc& Outer(const std::string& var) const {
    for (int block = level->forward;;
         block = program->blocks()[static_cast<size_t>(block)].parent) {
      const auto& desc = program->blocks()[static_cast<size_t>(block)];
      if (const VarDesc* found = desc.FindVar(var)) return *found;
    }
  }
  void Append(OpDesc gradient) const {
    gradient.type = op.type;
    gradient.hint = op.hint;
    gradient.location = op.location;
    gradient.purpose = OpPurpose::kBackward;
    DeclareSaved(program, level, gradient);
    program->AppendOp(std::move(gradient));
  }
};

// The gradient of an if is another one, of the same condition.
class IfGradient {
 public:
  explicit IfGradient(const OpRequest& request)
      : request_(request), blocks_(IfBlocksOf(request.op)) {}

  void Add() {
    const OpDesc& op = request_.op;
    const ArgVars& outer = op.Input("X");
    for (size_t j = 0; j < outer.size(); ++j) {
      if (request_.Wanted("X", j)) wanted_.push_back(outer[j]);
    }
    std::set<std::string> reached;
    for (const bool then : {true, false}) {
      BlockWriter writer = Writer();
      CheckRepeatable(*request_.program, op, Block(then));
      writer.SetForward(Block(then));
      writer.FindFlow(Targets(then), wanted_);
      for (const std::string& var : wanted_) {
        if (writer.Reaches(var)) reached.insert(var);
      }
    }
    std::erase_if(wanted_, [&](auto& var) { return !reached.contains(var); });
    if (wanted_.empty()) return;
    OpDesc gradient;
    gradient.inputs = {{"Cond", op.Input("Cond")}};
    for (const bool then : {true, false}) {
      const int64_t block = request_.program->BeginBlock();
      gradient.attributes[then ? "then_outputs" : "else_outputs"] = Write(then);
      gradient.attributes[then ? "then_block" : "else_block"] = block;
      request_.program->EndBlock();
    }
    ArgVars grads;
    BlockWriter names = Writer();
    names.SetForward(blocks_.then_block);
    names.FindFlow({}, {});
    names.Begin();
    for (const std::string& var : wanted_) {
      const auto j = std::find(outer.begin(), outer.end(), var) - outer.begin();
      grads.push_back(names.NewName(GradName(var)));
      request_.Give("X", static_cast<size_t>(j), grads.back());
    }
    gradient.outputs = {{"Out", grads}};
    request_.Append(std::move(gradient));
  }

 private:
  BlockWriter Writer() const {
    return {request_.program, request_.level, request_.op.location,
            request_.flow};
  }
  int Block(bool then) const {
    return then ? blocks_.then_block : blocks_.else_block;
  }
  const ArgVars& Outputs(bool then) const {
    return then ? blocks_.then_outputs : blocks_.else_outputs;
  }
  ArgVars Targets(bool then) const {
    ArgVars targets;
    for (size_t i = 0; i < Outputs(then).size(); ++i) {
      if (!request_.OutputGrad("Out", i).empty()) {
        targets.push_back(Outputs(then)[i]);
      }
    }
    return targets;
  }
  // Computes the block again, and its gradients, in the current block.
  ArgVars Write(bool then) const {
    Program* program = request_.program;
    CopyOps(Program(*program), Block(then), program);
    BlockWriter writer = Writer();
    writer.SetForward(program->current_block());
    writer.FindFlow(Targets(then), wanted_);
    writer.Begin();
    for (size_t i = 0; i < Outputs(then).size(); ++i) {
      const std::string& grad = request_.OutputGrad("Out", i);
      if (!grad.empty()) writer.Seed(Outputs(then)[i], grad);
    }
    writer.Make();
    ArgVars grads;
    for (const std::string& var : wanted_) {
      grads.push_back(writer.Total(var, {}, request_.Outer(var)));
    }
    return grads;
  }

  const OpRequest& request_;
  IfBlocks blocks_;
  ArgVars wanted_;
};

// The gradient of a loop is a loop over its iterations, the last one first. It
// carries the gradients of what the loop carries, and the sums of those of the
// variables around it.
class LoopGradient {
 public:
  explicit LoopGradient(const OpRequest& request)
      : request_(request),
        loop_(LoopBlockOf(request.op)),
        writer_(
            request.program, request.level, request.op.location, request.flow) {
  }

  void Add() {
    Check();
    writer_.SetForward(loop_.block);
    FindCarried();
    if (!AnyReached()) return;
    const int64_t block = request_.program->BeginBlock();
    if (loop_.recompute) CopyForward();
    writer_.Begin();
    Write();
    gradient_.attributes["block"] = block;
    request_.program->EndBlock();
    AddSequences();
    Finish();
  }

 private:
  bool IsWhole() const {
    return loop_.condition_out.empty() && request_.op.Input("Cond").empty();
  }
  const VarDesc& VarOf(const std::string& var) const {
    const auto& blocks = request_.program->blocks();
    const VarDesc* own = blocks[static_cast<size_t>(loop_.block)].FindVar(var);
    return own == nullptr ? request_.Outer(var) : *own;
  }
  bool IsFloat(const std::string& var) const {
    return IsFloating(VarOf(var).dtype);
  }
  void Check() const;
  ArgVars Targets() const;
  ArgVars Wanted() const;
  void FindCarried();
  bool AnyReached() const;
  void CopyForward();
  void Write();
  void AddSequence(const std::string& data,
                   const std::string& var,
                   int64_t axis,
                   bool reversed);
  void AddSequences();
  void Finish();

  const OpRequest& request_;
  LoopBlock loop_;
  BlockWriter writer_;
  // By carried variable: whether a gradient of it is carried back, and whether
  // it depends on what is wanted.
  std::vector<bool> active_;
  std::vector<bool> depends_;
  OpDesc gradient_;
  ArgVars carried_, carried_out_, first_, outputs_;
  ArgVars slices_, sequences_, stacked_, stacked_outputs_;
  std::vector<int64_t> sequence_axes_, sequence_reversed_;
  std::vector<int64_t> stacked_axes_, stacked_reversed_;
};

void LoopGradient::Check() const {
  const OpDesc& op = request_.op;
  SLUICE_ENFORCE(IsWhole() || loop_.max_trips > 0, ErrorCode::kInvalidArgument,
                 "backward.unbounded_loop",
                 "loss {} depends on variables through {}, which runs until a "
                 "condition fails: its gradient keeps values of each "
                 "iteration, so give the most that there can be, max_trips",
                 request_.flow.loss(), op.type);
  if (loop_.recompute) {
    CheckRepeatable(*request_.program, op, loop_.block);
  }
  for (size_t i = 0; !IsWhole() && i < loop_.slices.size(); ++i) {
    SLUICE_ENFORCE(!request_.Wanted("Sequences", i), ErrorCode::kUnimplemented,
                   "backward.ended_sequence",
                   "sequence {} of {} has no gradient, because the loop may "
                   "end before its last element",
                   op.Input("Sequences")[i], op.type);
  }
}

ArgVars LoopGradient::Targets() const {
  ArgVars targets;
  for (size_t k = 0; k < loop_.carried.size(); ++k) {
    if (active_[k]) targets.push_back(loop_.carried_out[k]);
  }
  for (size_t m = 0; m < loop_.stacked.size(); ++m) {
    if (request_.OutputGrad("Stacked", m).empty()) continue;
    targets.push_back(loop_.stacked[m]);
  }
  return targets;
}

ArgVars LoopGradient::Wanted() const {
  ArgVars wanted;
  for (size_t k = 0; k < loop_.carried.size(); ++k) {
    if (depends_[k]) wanted.push_back(loop_.carried[k]);
  }
  for (size_t i = 0; i < loop_.slices.size(); ++i) {
    if (request_.Wanted("Sequences", i)) wanted.push_back(loop_.slices[i]);
  }
  const ArgVars& outer = request_.op.Input("X");
  for (size_t j = 0; j < outer.size(); ++j) {
    if (request_.Wanted("X", j)) wanted.push_back(outer[j]);
  }
  return wanted;
}

// What is carried has a gradient if something that has one depends on it in
// this iteration or a later one, and if it depends on something wanted.
void LoopGradient::FindCarried() {
  const size_t count = loop_.carried.size();
  active_.resize(count);
  depends_.resize(count);
  for (size_t k = 0; k < count; ++k) {
    active_[k] = !request_.OutputGrad("Out", k).empty();
    depends_[k] = IsFloat(loop_.carried[k]);
  }
  for (bool grows = true; grows;) {
    writer_.FindFlow(Targets(), Wanted());
    grows = false;
    for (size_t k = 0; k < count; ++k) {
      if (active_[k] || !depends_[k] || !writer_.Reaches(loop_.carried[k])) {
        continue;
      }
      active_[k] = grows = true;
    }
  }
  for (size_t k = 0; k < count; ++k) {
    depends_[k] = request_.Wanted("Carried", k);
  }
  for (bool grows = true; grows;) {
    writer_.FindFlow(Targets(), Wanted());
    grows = false;
    for (size_t k = 0; k < count; ++k) {
      if (!active_[k] || depends_[k] || !writer_.Needs(loop_.carried_out[k])) {
        continue;
      }
      depends_[k] = grows = true;
    }
  }
  for (size_t k = 0; k < count; ++k) {
    active_[k] = active_[k] && depends_[k];
  }
  writer_.FindFlow(Targets(), Wanted());
}

bool LoopGradient::AnyReached() const {
  const ArgVars wanted = Wanted();
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](auto& var) { return writer_.Reaches(var); });
}

// Computes the iteration again, in the current block.
void LoopGradient::CopyForward() {
  Program* program = request_.program;
  const Program before(*program);
  const int current = program->current_block();
  for (const VarDesc& var :
       before.blocks()[static_cast<size_t>(loop_.block)].vars()) {
    if (!var.is_data) continue;
    program->AddSaved(var, current);
    writer_.saved()->push_back(var.name);
  }
  CopyOps(before, loop_.block, program);
  writer_.SetForward(current);
  writer_.FindFlow(Targets(), Wanted());
}

// Fills the current block.
void LoopGradient::Write() {
  const OpDesc& op = request_.op;
  for (size_t k = 0; k < loop_.carried.size(); ++k) {
    if (!active_[k]) continue;
    carried_.push_back(writer_.AddData(GradName(loop_.carried[k]) + "@NEXT",
                                       VarOf(loop_.carried[k])));
    writer_.Seed(loop_.carried_out[k], carried_.back());
  }
  for (size_t m = 0; m < loop_.stacked.size(); ++m) {
    const std::string& grad = request_.OutputGrad("Stacked", m);
    if (grad.empty()) continue;
    const std::string& var = loop_.stacked[m];
    const std::string data =
        writer_.AddData(GradName(var) + "@STACKED", VarOf(var));
    writer_.Seed(var, data);
    const bool reversed =
        !loop_.stacked_reversed.empty() && loop_.stacked_reversed[m] != 0;
    AddSequence(data, grad,
                loop_.stacked_axes.empty() ? 0 : loop_.stacked_axes[m],
                !reversed);
  }
  const size_t of_carried = carried_.size();
  const ArgVars& outer = op.Input("X");
  std::vector<size_t> summed;
  for (size_t j = 0; j < outer.size(); ++j) {
    if (!request_.Wanted("X", j) || !writer_.Reaches(outer[j])) continue;
    summed.push_back(j);
    carried_.push_back(
        writer_.AddData(GradName(outer[j]) + "@SUM", request_.Outer(outer[j])));
  }
  writer_.Make();
  for (size_t k = 0, next = 0; k < loop_.carried.size(); ++k) {
    if (!active_[k]) continue;
    const VarDesc like = request_.program->FindVar(carried_[next++]);
    carried_out_.push_back(writer_.Total(loop_.carried[k], {}, like));
  }
  for (size_t s = 0; s < summed.size(); ++s) {
    const VarDesc like = request_.program->FindVar(carried_[of_carried + s]);
    carried_out_.push_back(writer_.Total(outer[summed[s]], {like.name}, like));
  }
  for (size_t i = 0; i < loop_.slices.size(); ++i) {
    const std::string& slice = loop_.slices[i];
    if (!request_.Wanted("Sequences", i) || !writer_.Reaches(slice)) continue;
    stacked_.push_back(writer_.Total(slice, {}, VarOf(slice)));
    const bool reversed =
        !loop_.sequence_reversed.empty() && loop_.sequence_reversed[i] != 0;
    stacked_axes_.push_back(
        loop_.sequence_axes.empty() ? 0 : loop_.sequence_axes[i]);
    stacked_reversed_.push_back(reversed ? 0 : 1);
    stacked_outputs_.push_back(
        writer_.NewName(GradName(op.Input("Sequences")[i])));
    request_.Give("Sequences", i, stacked_outputs_.back());
  }
  // Something has to say how many iterations there are.
  const bool counted = !op.Input("MaxTrips").empty() || loop_.max_trips > 0 ||
                       !slices_.empty() || !writer_.saved()->empty();
  if (counted) return;
  request_.program->AddSaved(VarOf(loop_.slices[0]),
                             request_.program->current_block());
  writer_.saved()->push_back(loop_.slices[0]);
}

void LoopGradient::AddSequence(const std::string& data,
                               const std::string& var,
                               int64_t axis,
                               bool reversed) {
  slices_.push_back(data);
  sequences_.push_back(var);
  sequence_axes_.push_back(axis);
  sequence_reversed_.push_back(reversed ? 1 : 0);
}

// Lets the loop keep what its gradient reads: all but elements of sequences,
// and what it stacks anyway.
void LoopGradient::AddSequences() {
  OpDesc op = request_.op;
  auto& kept = std::get<ArgVars>(op.attributes["stacked"]);
  ArgVars outputs = op.Output("Stacked");
  for (const std::string& var : *writer_.saved()) {
    const auto slice = static_cast<size_t>(
        std::find(loop_.slices.begin(), loop_.slices.end(), var) -
        loop_.slices.begin());
    const auto known = static_cast<size_t>(
        std::find(kept.begin(), kept.end(), var) - kept.begin());
    if (slice < loop_.slices.size() && IsWhole()) {
      const bool reversed = !loop_.sequence_reversed.empty() &&
                            loop_.sequence_reversed[slice] != 0;
      AddSequence(var, op.Input("Sequences")[slice],
                  loop_.sequence_axes.empty() ? 0 : loop_.sequence_axes[slice],
                  !reversed);
      continue;
    }
    if (known < loop_.stacked.size()) {
      const bool reversed =
          !loop_.stacked_reversed.empty() && loop_.stacked_reversed[known] != 0;
      AddSequence(var, outputs[known],
                  loop_.stacked_axes.empty() ? 0 : loop_.stacked_axes[known],
                  !reversed);
      continue;
    }
    kept.push_back(var);
    outputs.push_back(writer_.NewName(var + kSaved));
    AddSequence(var, outputs.back(), 0, true);
  }
  if (outputs.size() == op.Output("Stacked").size()) return;
  for (const char* list : {"stacked_axes", "stacked_reversed"}) {
    auto& each = std::get<std::vector<int64_t>>(op.attributes[list]);
    if (!each.empty()) each.resize(kept.size(), 0);
  }
  std::erase_if(op.outputs, [](auto& each) { return each.first == "Stacked"; });
  const auto after_out =
      op.outputs.begin() + (op.Output("Out").empty() ? 0 : 1);
  op.outputs.insert(after_out, {"Stacked", outputs});
  request_.program->ReplaceOp(request_.level->forward, request_.index,
                              std::move(op));
}

// Appends the loop.
void LoopGradient::Finish() {
  const OpDesc& op = request_.op;
  for (size_t k = 0; k < loop_.carried.size(); ++k) {
    if (!active_[k]) continue;
    const std::string& grad = request_.OutputGrad("Out", k);
    const VarDesc like = request_.Outer(op.Output("Out")[k]);
    first_.push_back(grad.empty() ? writer_.Zeros(like) : grad);
    const bool wanted = request_.Wanted("Carried", k);
    outputs_.push_back(writer_.NewName(wanted ? GradName(op.Input("Carried")[k])
                                              : op.type + "@UNUSED"));
    if (wanted) request_.Give("Carried", k, outputs_.back());
  }
  const ArgVars& outer = op.Input("X");
  for (size_t j = 0; j < outer.size(); ++j) {
    if (!request_.Wanted("X", j) || !writer_.Reaches(outer[j])) continue;
    const VarDesc like = request_.Outer(outer[j]);
    first_.push_back(writer_.Zeros(like));
    outputs_.push_back(writer_.NewName(GradName(outer[j])));
    request_.Give("X", j, outputs_.back());
  }
  const ArgVars& trips =
      loop_.max_trips > 0 ? op.Output("Trips") : op.Input("MaxTrips");
  const std::pair<const char*, const ArgVars*> inputs[] = {
      {"MaxTrips", &trips}, {"Carried", &first_}, {"Sequences", &sequences_}};
  for (const auto& [argument, vars] : inputs) {
    if (!vars->empty()) gradient_.inputs.emplace_back(argument, *vars);
  }
  if (!outputs_.empty()) gradient_.outputs.emplace_back("Out", outputs_);
  if (!stacked_.empty()) {
    gradient_.outputs.emplace_back("Stacked", stacked_outputs_);
  }
  AttributeMap& attributes = gradient_.attributes;
  attributes["carried"] = carried_;
  attributes["carried_out"] = carried_out_;
  attributes["slices"] = slices_;
  attributes["sequence_axes"] = sequence_axes_;
  attributes["sequence_reversed"] = sequence_reversed_;
  attributes["stacked"] = stacked_;
  attributes["stacked_axes"] = stacked_axes_;
  attributes["stacked_reversed"] = stacked_reversed_;
  attributes["limit"] = loop_.limit;
  request_.Append(std::move(gradient_));
}

}  // namespace

void DeclareSaved(Program* program, GradientLevel* level, const OpDesc& op) {
  for (const auto& [argument, vars] : op.inputs) {
    for (const std::string& var : vars) {
      if (program->HasVar(var)) continue;
      for (GradientLevel* at = level; at != nullptr; at = at->around) {
        const VarDesc* known =
            program->blocks()[static_cast<size_t>(at->forward)].FindVar(var);
        if (known == nullptr) continue;
        program->AddSaved(*known, at->gradients);
        at->saved.push_back(var);
        break;
      }
    }
  }
}

void DropSaved(OpDesc* op) {
  if (Registry::Global().Schema(op->type).role() != OpRole::kLoop) return;
  for (auto& [argument, vars] : op->outputs) {
    if (argument != "Stacked") continue;
    for (size_t m = vars.size(); m-- > 0;) {
      if (vars[m].find(kSaved) == std::string::npos) continue;
      const auto at = static_cast<ptrdiff_t>(m);
      vars.erase(vars.begin() + at);
      auto& stacked = std::get<ArgVars>(op->attributes["stacked"]);
      stacked.erase(stacked.begin() + at);
      for (const char* list : {"stacked_axes", "stacked_reversed"}) {
        auto& each = std::get<std::vector<int64_t>>(op->attributes[list]);
        if (!each.empty()) each.erase(each.begin() + at);
      }
    }
  }
  std::erase_if(op->outputs, [](auto& each) { return each.second.empty(); });
}

void AddBlockOpGradients(Program* program,
                         GradientLevel* level,
                         int index,
                         const GradientFlow& flow,
                         BlockOpGradients* gradients) {
  const auto& block = program->blocks()[static_cast<size_t>(level->forward)];
  const OpRequest request{program,   level,
                          index,     flow,
                          gradients, block.ops[static_cast<size_t>(index)]};
  gradients->of_inputs.resize(gradients->wanted.size());
  if (Registry::Global().Schema(request.op.type).role() == OpRole::kIf) {
    IfGradient(request).Add();
  } else {
    LoopGradient(request).Add();
  }
}

}  // namespace sluice
