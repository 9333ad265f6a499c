#include "sluice/framework/program/block_gradients.h"

#include <algorithm>
#include <set>
#include <utility>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/program/block_writer.h"
#include "sluice/framework/program/prune.h"

namespace sluice {

namespace {

bool IsRandom(const Program& program, int block) {
  const auto& ops = program.blocks()[static_cast<size_t>(block)].ops;
  return std::any_of(ops.begin(), ops.end(), [&](const OpDesc& op) {
    const std::vector<int> blocks = BlocksOf(op);
    return Registry::Global().Schema(op.type).random() ||
           std::any_of(blocks.begin(), blocks.end(),
                       [&](int inner) { return IsRandom(program, inner); });
  });
}

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
    request_.DeclareOuter();
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

}  // namespace

void CheckRepeatable(const Program& program, const OpDesc& op, int block) {
  SLUICE_ENFORCE(
      !IsRandom(program, block), ErrorCode::kUnimplemented,
      "backward.random_block",
      "the gradient of {} computes block {} again, and its random ops would "
      "draw other numbers; draw them outside of the block",
      op.type, block);
}

void AddIfGradient(const OpRequest& request) {
  IfGradient(request).Add();
}

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
  const OpSchema* schema = Registry::Global().FindSchema(op->type);
  if (schema == nullptr || schema->role() != OpRole::kLoop) return;
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
    AddIfGradient(request);
  } else {
    AddLoopGradient(request);
  }
}

}  // namespace sluice
