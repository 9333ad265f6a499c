#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/program/block_gradients.h"
#include "sluice/framework/program/block_ops.h"
#include "sluice/framework/program/gradient_flow.h"
#include "sluice/framework/program/gradient_ops.h"
#include "sluice/framework/program/value_table.h"
#include "sluice/platform/error.h"

// Shared by the gradients of an if and of a loop. Internal to
// framework/program.
namespace sluice {

// The name of an output of a loop that only its gradient reads has this.
inline constexpr const char* kSaved = "@SAVED";

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
    request_.gradient_ops = outer.gradient_ops();
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
  // Takes back the op that alone makes the gradient of what the block begins
  // with as `var`, and nothing else; nothing if there is none, or if `wanted`
  // does not want it. Call it before Flush, Total and Zeros.
  std::optional<OpDesc> Take(const std::string& var,
                             const std::function<bool(const OpDesc&)>& wanted) {
    const int value = values_->Before(0, var);
    if (value < 0 || !passed_on_[var].empty()) return {};
    return ops_->Take(value, wanted);
  }
  // Whether `var` is a variable of the block of gradients.
  bool Makes(const std::string& var) const { return ops_->Makes(var); }
  void Flush() { ops_->Flush(); }
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
    if (value < 0) sum = ops_->Through(var, sum, location_);
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
  static bool Holds(const ArgVars& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

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
  // Lets the current block see what the op's blocks read.
  void DeclareOuter() const {
    OpDesc reads;
    reads.inputs = {{"X", op.Input("X")}};
    DeclareSaved(program, level, reads);
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

// Raises Unimplemented if a block that is computed again draws random numbers.
void CheckRepeatable(const Program& program, const OpDesc& op, int block);

void AddIfGradient(const OpRequest& request);
void AddLoopGradient(const OpRequest& request);

}  // namespace sluice
