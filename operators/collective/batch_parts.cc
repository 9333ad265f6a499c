#include "sluice/operators/collective/batch_parts.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/program/control_flow.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

void CheckDivisible(const Program& program, const OpDesc& op) {
  const auto& schema = Registry::Global().Schema(op.type);
  const char* problem = schema.random()         ? "draws random numbers"
                        : schema.holds_blocks() ? "holds blocks"
                                                : nullptr;
  for (const auto& [argument, vars] : op.outputs) {
    for (const std::string& var : vars) {
      if (!program.FindVar(var).persistable) continue;
      problem = op.purpose == OpPurpose::kOptimize ? "is an optimizer's step"
                                                   : "updates a variable";
    }
  }
  SLUICE_ENFORCE(problem == nullptr, ErrorCode::kInvalidArgument,
                 "batch_parts.op",
                 "the batch cannot be computed in parts: {} {}, {}", op.type,
                 problem, DescribeLocation(op.location));
}

// Returns the ops that compute `wanted`, in program order.
std::vector<OpDesc> OpsFor(const Program& program,
                           std::set<std::string> wanted) {
  std::vector<OpDesc> ops;
  const auto& all = program.block().ops;
  for (auto op = all.rbegin(); op != all.rend(); ++op) {
    bool needed = false;
    for (const auto& [argument, vars] : op->outputs) {
      for (const std::string& var : vars) {
        needed |= wanted.count(var) > 0;
      }
    }
    if (!needed) continue;
    CheckDivisible(program, *op);
    for (const auto& [argument, vars] : op->inputs) {
      wanted.insert(vars.begin(), vars.end());
    }
    ops.push_back(*op);
  }
  std::reverse(ops.begin(), ops.end());
  return ops;
}

// Returns the fed variables with an open first dim: these are divided.
std::vector<std::string> DataOf(const Program& program,
                                const std::vector<OpDesc>& ops) {
  std::set<std::string> data;
  for (const OpDesc& op : ops) {
    for (const auto& [argument, vars] : op.inputs) {
      for (const std::string& name : vars) {
        const VarDesc& var = program.FindVar(name);
        const bool open = var.dims.rank() > 0 && var.dims[0] < 0;
        if (var.is_data && open) data.insert(name);
      }
    }
  }
  return {data.begin(), data.end()};
}

// Appends copies of ops. Renames variables by `names` and adds the outputs to
// it.
void AppendCopies(Program& program,
                  const std::vector<OpDesc>& ops,
                  std::map<std::string, std::string>* names) {
  for (OpDesc op : ops) {
    for (auto& [argument, vars] : op.inputs) {
      for (std::string& var : vars) {
        const auto renamed = names->find(var);
        if (renamed != names->end()) var = renamed->second;
      }
    }
    for (auto& [argument, vars] : op.outputs) {
      for (std::string& var : vars) {
        (*names)[var] = var + "@PART";
        var += "@PART";
      }
    }
    op.purpose = OpPurpose::kBackward;
    program.AppendOp(std::move(op));
  }
}

}  // namespace

PartSums AppendPartSums(Program& program,
                        const std::string& loss,
                        const BackwardOptions& backward,
                        int count,
                        int divisor,
                        const SourceLocation& location) {
  // A copy of the program gets the gradients for the whole batch.
  Program whole(program);
  PartSums sums;
  sums.loss = whole
                  .AppendOp("scale", {{"X", {loss}}},
                            {{"scale", 1.0 / divisor}}, location)
                  .Output("Out")[0];
  sums.gradients = AppendBackward(whole, sums.loss, backward, location);
  std::set<std::string> wanted = {sums.loss};
  for (const ParamGrad& each : sums.gradients) {
    wanted.insert(each.grad);
  }
  const std::vector<OpDesc> ops = OpsFor(whole, wanted);
  const std::vector<std::string> data = DataOf(whole, ops);
  SLUICE_ENFORCE(!data.empty(), ErrorCode::kInvalidArgument, "batch_parts.data",
                 "the batch cannot be computed in parts: no variable that is "
                 "fed for {} has an open first dim",
                 loss);
  Vars parts;
  for (const std::string& var : data) {
    program.AppendOp("batch_parts", {{"X", {var}}}, {{"parts", int64_t{count}}},
                     location);
    parts.push_back(program.Output("Out"));
  }
  const auto step = [&](const Vars& /*carried*/, const Vars& elements) {
    std::map<std::string, std::string> names;
    for (size_t i = 0; i < data.size(); ++i) {
      names[data[i]] = elements[i].name();
    }
    AppendCopies(program, ops, &names);
    Vars results = {program.Find(names.at(sums.loss))};
    for (const ParamGrad& each : sums.gradients) {
      results.push_back(program.Find(names.at(each.grad)));
    }
    return ScanStep{{}, std::move(results)};
  };
  const Vars stacked = Scan(step, {}, parts, {}, location).stacked;
  const auto sum_of = [&](const Var& terms) {
    return program
        .AppendOp("pairwise_sum", {{"X", {terms.name()}}}, {}, location)
        .Output("Out")[0];
  };
  sums.loss = sum_of(stacked[0]);
  for (size_t i = 0; i < sums.gradients.size(); ++i) {
    sums.gradients[i].grad = sum_of(stacked[i + 1]);
  }
  return sums;
}

}  // namespace sluice
