#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/op/registry.h"
#include "sluice/framework/program/block_writer.h"
#include "sluice/framework/program/prune.h"

namespace sluice {

namespace {

// The gradient of a loop is a loop over its iterations, the last one first. It
// carries the gradients of what the loop carries, and the sums of those of the
// variables around it. Where one op can add up what it computes from the values
// of all iterations (OpSchema::AddsUp), as for the weights of a product, it
// runs once, after the loop.
class LoopGradient {
 public:
  explicit LoopGradient(const OpRequest& request)
      : request_(request),
        loop_(LoopBlockOf(request.op)),
        writer_(
            request.program, request.level, request.op.location, request.flow),
        stacked_here_(loop_.stacked),
        stacked_outside_(request.op.Output("Stacked")) {}

  void Add() {
    Check();
    writer_.SetForward(loop_.block);
    FindCarried();
    if (!AnyReached()) return;
    if (loop_.recompute) request_.DeclareOuter();
    const int64_t block = request_.program->BeginBlock();
    if (loop_.recompute) CopyForward();
    writer_.Begin();
    Write();
    gradient_.attributes["block"] = block;
    request_.program->EndBlock();
    AddSequences();
    Finish();
    AppendMoved();
  }

 private:
  // Whether there is an iteration for each element of the sequences.
  bool IsWhole() const {
    return loop_.condition_out.empty() && request_.op.Input("Cond").empty() &&
           (loop_.slices.empty() || request_.op.Input("MaxTrips").empty());
  }
  const VarDesc& VarOf(const std::string& var) const {
    const VarDesc* own = FindHere(var);
    return own == nullptr ? request_.Outer(var) : *own;
  }
  // An op that runs after the loop, and the outer variable whose gradient it
  // computes.
  struct Moved {
    OpDesc op;
    size_t outer;
  };
  // The values of all iterations.
  struct Whole {
    std::string var;
    int64_t axis;
    bool reversed;
  };

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
  // Whether the loop carries the sum of the gradients of outer variable j.
  bool IsSummed(size_t j) const {
    return request_.Wanted("X", j) &&
           writer_.Reaches(request_.op.Input("X")[j]) &&
           std::none_of(moved_.begin(), moved_.end(),
                        [&](const Moved& moved) { return moved.outer == j; });
  }
  void CountIterations();
  const VarDesc* FindHere(const std::string& var) const {
    const auto& blocks = request_.program->blocks();
    return blocks[static_cast<size_t>(loop_.block)].FindVar(var);
  }
  bool CanMove(const OpDesc& op, int rank) const;
  void MoveOps();
  std::optional<Whole> FindWhole(const std::string& var) const;
  std::string Keep(const std::string& var);
  void AddSequences();
  void Finish();
  void AppendMoved();

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
  std::vector<Moved> moved_;
  // What the forward loop stacks, including what gradients read: variables of
  // its block, and by the same index the outputs that have their values.
  ArgVars stacked_here_, stacked_outside_;
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

// A carried variable has a gradient if two things hold: a variable that has one
// depends on it, in this iteration or a later one; and it depends on a wanted
// variable.
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
  writer_.Make();
  MoveOps();
  const size_t of_carried = carried_.size();
  const ArgVars& outer = op.Input("X");
  std::vector<size_t> summed;
  for (size_t j = 0; j < outer.size(); ++j) {
    if (!IsSummed(j)) continue;
    summed.push_back(j);
    carried_.push_back(
        writer_.AddData(GradName(outer[j]) + "@SUM", request_.Outer(outer[j])));
  }
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
  CountIterations();
}

// Something has to say how many iterations there are.
void LoopGradient::CountIterations() {
  const OpDesc& op = request_.op;
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
  sequence_reversed_.push_back(reversed ? 2 : 0);
}

// Whether an op, whose output has this rank, can run after the loop. It must
// read gradients, which the loop of gradients then stacks, and values of the
// forward loop, of which all iterations are kept in their order.
bool LoopGradient::CanMove(const OpDesc& op, int rank) const {
  const OpSchema& schema = Registry::Global().Schema(op.type);
  if (!schema.adds_up() || loop_.recompute || !IsWhole() || rank < 0) {
    return false;
  }
  for (const auto& [argument, vars] : op.inputs) {
    const bool shape_only = schema.FindInput(argument)->traits.shape_only;
    for (const std::string& var : vars) {
      const VarDesc* here = FindHere(var);
      const bool is_gradient = here == nullptr && writer_.Makes(var);
      if (shape_only || is_gradient) {
        if (here != nullptr || shape_only == is_gradient) return false;
        continue;
      }
      const auto whole = FindWhole(var);
      const bool in_order = !whole || (whole->axis == 0 && !whole->reversed);
      if (here == nullptr || !in_order || here->dims.rank() < rank ||
          here->dims.rank() == DDim::kMaxRank) {
        return false;
      }
    }
  }
  return true;
}

// Takes the ops that run after the loop out of its block.
void LoopGradient::MoveOps() {
  const ArgVars& outer = request_.op.Input("X");
  for (size_t j = 0; j < outer.size(); ++j) {
    if (!IsSummed(j)) continue;
    const int rank = request_.Outer(outer[j]).dims.rank();
    const auto can_move = [&](const OpDesc& op) { return CanMove(op, rank); };
    if (auto op = writer_.Take(outer[j], can_move)) {
      moved_.push_back({std::move(*op), j});
    }
  }
  writer_.Flush();
  std::map<std::string, std::string> all;  // of each gradient
  for (Moved& moved : moved_) {
    const OpSchema& schema = Registry::Global().Schema(moved.op.type);
    for (auto& [argument, vars] : moved.op.inputs) {
      if (schema.FindInput(argument)->traits.shape_only) continue;
      for (std::string& var : vars) {
        if (FindHere(var) != nullptr) {
          var = Keep(var);
          continue;
        }
        std::string& stacked = all[var];
        if (stacked.empty()) {
          stacked = writer_.NewName(var + "@ALL");
          stacked_.push_back(var);
          stacked_axes_.push_back(0);
          stacked_reversed_.push_back(1);
          stacked_outputs_.push_back(stacked);
        }
        var = stacked;
      }
    }
  }
}

// Returns where the values of all iterations are, if they are kept: in a
// sequence, or in what the loop stacks.
std::optional<LoopGradient::Whole> LoopGradient::FindWhole(
    const std::string& var) const {
  const auto find = [&](const ArgVars& vars) {
    return static_cast<size_t>(std::find(vars.begin(), vars.end(), var) -
                               vars.begin());
  };
  const auto at = [](const std::vector<int64_t>& list, size_t i) {
    return i < list.size() ? list[i] : 0;
  };
  const size_t slice = find(loop_.slices);
  if (slice < loop_.slices.size() && IsWhole()) {
    return Whole{request_.op.Input("Sequences")[slice],
                 at(loop_.sequence_axes, slice),
                 at(loop_.sequence_reversed, slice) != 0};
  }
  const size_t stacked = find(stacked_here_);
  if (stacked == stacked_here_.size()) return {};
  return Whole{stacked_outside_[stacked], at(loop_.stacked_axes, stacked),
               at(loop_.stacked_reversed, stacked) != 0};
}

// Lets the loop keep the values of a variable of its block.
std::string LoopGradient::Keep(const std::string& var) {
  if (const auto whole = FindWhole(var)) return whole->var;
  stacked_here_.push_back(var);
  stacked_outside_.push_back(writer_.NewName(var + kSaved));
  return stacked_outside_.back();
}

// Lets the loop keep what its gradient reads.
void LoopGradient::AddSequences() {
  for (const std::string& var : *writer_.saved()) {
    const std::string outside = Keep(var);
    const Whole whole = *FindWhole(var);
    AddSequence(var, outside, whole.axis, !whole.reversed);
  }
  OpDesc op = request_.op;
  if (stacked_outside_.size() == op.Output("Stacked").size()) return;
  for (const char* list : {"stacked_axes", "stacked_reversed"}) {
    auto& each = std::get<std::vector<int64_t>>(op.attributes[list]);
    if (!each.empty()) each.resize(stacked_here_.size(), 0);
  }
  op.attributes["stacked"] = stacked_here_;
  std::erase_if(op.outputs, [](auto& each) { return each.first == "Stacked"; });
  const auto after_out =
      op.outputs.begin() + (op.Output("Out").empty() ? 0 : 1);
  op.outputs.insert(after_out, {"Stacked", stacked_outside_});
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
    if (!IsSummed(j)) continue;
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

void LoopGradient::AppendMoved() {
  for (auto& [op, outer] : moved_) {
    std::string& gradient = op.outputs[0].second[0];
    gradient = writer_.NewName(GradName(request_.op.Input("X")[outer]));
    request_.Give("X", outer, gradient);
    const OpSchema& schema = Registry::Global().Schema(op.type);
    if (!schema.leading_dims().empty()) {
      const AttrDef* attr = schema.FindAttr(schema.leading_dims());
      Attribute& value =
          op.attributes.try_emplace(attr->name, *attr->default_value)
              .first->second;
      ++std::get<int64_t>(value);
    }
    DeclareSaved(request_.program, request_.level, op);
    request_.program->AppendOp(std::move(op));
  }
}

}  // namespace

void AddLoopGradient(const OpRequest& request) {
  LoopGradient(request).Add();
}

}  // namespace sluice
