#include "sluice/operators/collective/data_parallel.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/program/backward.h"
#include "sluice/framework/program/control_flow.h"
#include "sluice/framework/program/program.h"
#include "sluice/platform/error.h"
#include "sluice/platform/ranks/world.h"

namespace sluice {
namespace {

// The names of the sums over all parts of a batch.
struct PartSums {
  std::vector<ParamGrad> gradients;
  std::string loss;
};

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

// Appends a scan that computes the gradients of `loss` / `divisor` for `count`
// equal parts of the batch, in sequence and with one plan, and their pairwise
// sums. The fed variables with an open first dim are divided. Raises what
// AppendBackward raises. Raises InvalidArgument if there is nothing to divide,
// or if an op before the loss draws random numbers, updates a variable or holds
// blocks: such an op would compute something else for parts.
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

void CheckOptions(const DataParallelOptions& options) {
  SLUICE_ENFORCE(options.bucket_bytes > 0, ErrorCode::kInvalidArgument,
                 "data_parallel.bucket_bytes",
                 "bucket_bytes = {}; expected 1 or more", options.bucket_bytes);
  const int parts = options.parts;
  const int ranks = World::Get().size();
  SLUICE_ENFORCE(
      parts == 0 || (std::has_single_bit(static_cast<unsigned>(parts)) &&
                     parts > 0 && parts % ranks == 0),
      ErrorCode::kInvalidArgument, "data_parallel.parts",
      "parts = {}; expected a power of 2 that is a multiple of the {} ranks{}",
      parts, ranks,
      std::has_single_bit(static_cast<unsigned>(ranks))
          ? ""
          : ": there is none, start 1, 2, 4 or another power of 2");
}

// Returns the persistables that ops read and no op writes: parameters, both
// trained and frozen.
std::set<std::string> Constants(const Program& program) {
  std::set<std::string> read;
  std::set<std::string> written;
  for (const BlockDesc& block : program.blocks()) {
    for (const OpDesc& op : block.ops) {
      for (const auto& [argument, vars] : op.inputs) {
        read.insert(vars.begin(), vars.end());
      }
      for (const auto& [argument, vars] : op.outputs) {
        written.insert(vars.begin(), vars.end());
      }
    }
  }
  std::erase_if(read, [&](const std::string& name) {
    const VarDesc* var = program.block().FindVar(name);
    return var == nullptr || !var->persistable || written.count(name) > 0;
  });
  return read;
}

// Appends the ops. If that fails, the program keeps none of them.
class Appended {
 public:
  Appended(Program& program,
           const BackwardOptions& backward,
           const DataParallelOptions& options,
           const SourceLocation& location)
      : program_(program),
        backward_(backward),
        options_(options),
        location_(location),
        ranks_(World::Get().size()) {
    program_.SetPurpose(OpPurpose::kBackward);
  }

  // Computes the gradients of the rank's whole batch at once.
  DataParallelBackward Whole(const std::string& loss) {
    DataParallelBackward result;
    result.loss = loss;
    if (ranks_ > 1) {
      result.loss = program_
                        .AppendOp("scale", {{"X", {loss}}},
                                  {{"scale", 1.0 / ranks_}}, location_)
                        .Output("Out")[0];
    }
    result.gradients =
        AppendBackward(program_, result.loss, backward_, location_);
    return result;
  }

  // Computes the gradients of parts of the batch and adds them up.
  DataParallelBackward InParts(const std::string& loss) {
    BackwardOptions dense = backward_;
    dense.sparse = false;
    PartSums sums =
        AppendPartSums(program_, loss, dense, options_.parts / ranks_,
                       options_.parts, location_);
    return {std::move(sums.gradients), std::move(sums.loss)};
  }

  void AllReduce(DataParallelBackward* result) {
    SortByWriter(&result->gradients);
    size_t first = 0;
    int64_t bytes = 0;
    std::vector<ParamGrad> sparse;
    std::vector<ParamGrad> gradients;
    for (const ParamGrad& each : result->gradients) {
      const bool dense = program_.FindVar(each.grad).rows.empty();
      (dense ? gradients : sparse).push_back(each);
    }
    const auto dtype = [&](size_t i) {
      return program_.FindVar(gradients[i].grad).dtype;
    };
    for (size_t i = 0; i < gradients.size(); ++i) {
      bytes += BytesOf(program_.FindVar(gradients[i].grad));
      const bool last = i + 1 == gradients.size();
      // All variables of a collective op have the same dtype.
      if (last || bytes >= options_.bucket_bytes || dtype(i) != dtype(i + 1)) {
        AllReduce(&gradients, first, i + 1);
        first = i + 1;
        bytes = 0;
      }
    }
    for (ParamGrad& each : sparse) {
      const std::string rows = Gathered(program_.FindVar(each.grad).rows);
      each.grad = Gathered(each.grad);
      program_.SetRows(each.grad, rows);
    }
    gradients.insert(gradients.end(), sparse.begin(), sparse.end());
    result->gradients = std::move(gradients);
    result->loss = Sums({result->loss})[0];
  }

 private:
  // Unknown sizes are unlikely in a gradient; they count as 1.
  static int64_t BytesOf(const VarDesc& var) {
    auto bytes = static_cast<int64_t>(SizeOf(var.dtype));
    for (int axis = 0; axis < std::max(var.dims.rank(), 0); ++axis) {
      bytes *= std::max<int64_t>(var.dims[axis], 1);
    }
    return bytes;
  }

  // Sorts gradients by the last op that writes each.
  void SortByWriter(std::vector<ParamGrad>* gradients) const {
    std::map<std::string, size_t> writers;
    const auto& ops = program_.block().ops;
    for (size_t i = 0; i < ops.size(); ++i) {
      for (const auto& [argument, vars] : ops[i].outputs) {
        for (const std::string& var : vars) {
          writers[var] = i;
        }
      }
    }
    std::stable_sort(gradients->begin(), gradients->end(),
                     [&](const ParamGrad& a, const ParamGrad& b) {
                       return writers[a.grad] < writers[b.grad];
                     });
  }

  std::string Gathered(const std::string& var) {
    return program_
        .AppendOp("c_allgather", {{"X", {var}}},
                  {{"nranks", static_cast<int64_t>(ranks_)}}, location_)
        .Output("Out")[0];
  }

  ArgVars Sums(ArgVars values) {
    return program_
        .AppendOp("c_allreduce_sum", {{"X", std::move(values)}},
                  {{"ordered", options_.parts > 0}}, location_)
        .Output("Out");
  }

  void AllReduce(std::vector<ParamGrad>* gradients, size_t begin, size_t end) {
    ArgVars bucket;
    for (size_t i = begin; i < end; ++i) {
      bucket.push_back((*gradients)[i].grad);
    }
    const ArgVars sums = Sums(std::move(bucket));
    for (size_t i = begin; i < end; ++i) {
      (*gradients)[i].grad = sums[i - begin];
    }
  }

  Program& program_;
  const BackwardOptions& backward_;
  const DataParallelOptions& options_;
  const SourceLocation& location_;
  int ranks_;
};

}  // namespace

DataParallelBackward AppendDataParallelBackward(
    Program& program,
    const std::string& loss,
    const BackwardOptions& backward,
    const DataParallelOptions& options,
    const SourceLocation& location) {
  World::RequireJoined("DataParallel");
  CheckOptions(options);
  const OpPurpose purpose = program.purpose();
  Program copy(program);
  const std::set<std::string> constants = Constants(program);
  Appended appended(copy, backward, options, location);
  DataParallelBackward result =
      options.parts > 0 ? appended.InParts(loss) : appended.Whole(loss);
  if (World::Get().size() > 1) {
    appended.AllReduce(&result);
    for (const std::string& name : constants) {
      copy.SetReplicated(name);
    }
  }
  copy.SetPurpose(purpose);
  program = std::move(copy);
  return result;
}

}  // namespace sluice
