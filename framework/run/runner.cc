#include "sluice/framework/run/runner.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/plan/block_values.h"
#include "sluice/framework/program/block_ops.h"
#include "sluice/framework/values/scope_lock.h"
#include "sluice/platform/cancel.h"
#include "sluice/platform/error.h"
#include "sluice/platform/place.h"

namespace sluice {

void Executor::Runner::Note(const std::string& name,
                            const std::shared_ptr<const Plan>& plan) {
  constexpr size_t kMostPlans = 64;  // loops of many shapes have many plans
  if (plans_.size() >= kMostPlans) return;
  const bool known =
      std::any_of(plans_.begin(), plans_.end(),
                  [&](const NamedPlan& other) { return other.second == plan; });
  if (!known) plans_.emplace_back(name, plan);
}

// Returns an input of a block op: an earlier result, or a persistable variable.
Tensor Executor::Runner::ValueOf(const std::string& var,
                                 const Values& values) const {
  const auto found = values.find(var);
  if (found != values.end()) return found->second;
  const ScopeLock lock(scope_, ScopeAccess::kRead);
  const Variable* variable = scope_->FindVar(var);
  const Tensor* tensor =
      variable == nullptr ? nullptr : variable->Get<Tensor>();
  SLUICE_ENFORCE(
      tensor != nullptr && tensor->allocated(), ErrorCode::kFailedPrecondition,
      "block_op.uninitialised",
      "persistable variable {} has no value in the scope: initialise "
      "it first",
      var);
  return tensor->CopyTo(CPUPlace());
}

Executor::Runner::Block Executor::Runner::MakeBlock(
    const Program& program,
    int index,
    const std::vector<std::string>& outputs,
    const Values& values) const {
  Block block;
  block.program = program.BlockProgram(index);
  block.name = Format("block {}", index);
  for (const VarDesc& var : block.program->block().vars()) {
    if (!var.is_data) continue;
    const auto outer = values.find(var.name);
    block.feeds.emplace_back(var.name,
                             outer == values.end() ? Tensor() : outer->second);
  }
  for (const std::string& output : outputs) {
    if (output.empty()) continue;
    if (block.program->block().FindVar(output) == nullptr) {
      block.outer[output] = ValueOf(output, values);
    } else {
      block.fetches.emplace_back(output);
    }
  }
  return block;
}

Executor::Runner::Values Executor::Runner::RunBlock(const Block& block) {
  Values results = block.outer;
  if (block.fetches.empty()) return results;
  std::vector<Tensor> tensors =
      Run(*block.program, block.feeds, block.fetches, block.name);
  for (size_t i = 0; i < tensors.size(); ++i) {
    results[block.fetches[i].name()] = std::move(tensors[i]);
  }
  return results;
}

std::vector<Tensor> Executor::Runner::RunIf(const Program& program,
                                            const OpDesc& op,
                                            const Values& values) {
  const IfBlocks blocks = IfBlocksOf(op);
  const Tensor condition = ValueOf(op.Input("Cond")[0], values);
  const bool holds = OneElement<bool>(condition, op.type, "Cond");
  const auto& outputs = holds ? blocks.then_outputs : blocks.else_outputs;
  const Values results = RunBlock(MakeBlock(
      program, holds ? blocks.then_block : blocks.else_block, outputs, values));
  std::vector<Tensor> tensors;
  tensors.reserve(outputs.size());
  for (const std::string& output : outputs) {
    tensors.push_back(results.at(output));
  }
  return tensors;
}

std::vector<Executor::Runner::Sequence> Executor::Runner::SequencesOf(
    const LoopBlock& loop, const OpDesc& op, const Values& values) const {
  std::vector<Sequence> sequences;
  for (size_t i = 0; i < loop.slices.size(); ++i) {
    Tensor tensor = ValueOf(op.Input("Sequences")[i], values);
    const int64_t axis = loop.sequence_axes.empty() ? 0 : loop.sequence_axes[i];
    const int rank = tensor.dims().rank();
    SLUICE_ENFORCE(axis >= -rank && axis < rank, ErrorCode::kInvalidArgument,
                   "loop.sequence_rank",
                   "{}: sequence {} has shape {}, and no axis {}", op.type,
                   op.Input("Sequences")[i], tensor.dims(), axis);
    const int64_t size = AxisView(tensor.dims(), axis).size;
    SLUICE_ENFORCE(sequences.empty() || sequences[0].size == size,
                   ErrorCode::kInvalidArgument, "loop.sequence_size",
                   "{}: sequence {} has {} elements, {} has {}; expected as "
                   "many",
                   op.type, op.Input("Sequences")[i], size,
                   op.Input("Sequences")[0],
                   sequences.empty() ? size : sequences[0].size);
    sequences.push_back({std::move(tensor), axis, size});
  }
  return sequences;
}

// Returns the most iterations, by the input and the sequences.
int64_t Executor::Runner::MaxTrips(const OpDesc& op,
                                   const std::vector<Sequence>& sequences,
                                   const Values& values) const {
  int64_t trips = std::numeric_limits<int64_t>::max();
  if (!op.Input("MaxTrips").empty()) {
    const Tensor most = ValueOf(op.Input("MaxTrips")[0], values);
    trips = std::min(trips, OneElement<int64_t>(most, op.type, "MaxTrips"));
  }
  return sequences.empty() ? trips : std::min(trips, sequences[0].size);
}

// Returns what a loop reads of its block's values, each once.
static std::vector<std::string> ResultsOf(const LoopBlock& loop) {
  std::vector<std::string> results = loop.carried_out;
  results.insert(results.end(), loop.stacked.begin(), loop.stacked.end());
  results.push_back(loop.condition_out);
  std::sort(results.begin(), results.end());
  results.erase(std::unique(results.begin(), results.end()), results.end());
  return results;
}

// Sets a feed that a block has of its own, of rank 0 or 1.
template <typename T>
void Executor::Runner::FeedOne(const std::string& var, T value, Block* block) {
  if (var.empty()) return;
  const DDim& dims = block->program->FindVar(var).dims;
  Tensor tensor;
  tensor.mutable_data<T>(
      dims.rank_known() && dims.rank() == 1 ? DDim({1}) : DDim(),
      CPUPlace())[0] = value;
  *block->Feed(var) = std::move(tensor);
}

// Runs iteration `number` of a loop of at most `trips`.
Executor::Runner::Values Executor::Runner::RunIteration(
    const LoopBlock& loop,
    int64_t number,
    int64_t trips,
    const std::vector<Tensor>& carried,
    const std::vector<Sequence>& sequences,
    Block* block) {
  FeedOne(loop.iteration, number, block);
  FeedOne(loop.condition_in, true, block);
  for (size_t k = 0; k < carried.size(); ++k) {
    *block->Feed(loop.carried[k]) = carried[k];
  }
  for (size_t k = 0; k < sequences.size(); ++k) {
    const Sequence& from = sequences[k];
    *block->Feed(loop.slices[k]) =
        SliceOf(from.tensor, from.axis,
                SequenceIndex(loop, k, number, trips, from.size));
  }
  return RunBlock(*block);
}

std::vector<Tensor> Executor::Runner::RunLoop(const Program& program,
                                              const OpDesc& op,
                                              const Values& values) {
  const LoopBlock loop = LoopBlockOf(op);
  const std::vector<Sequence> sequences = SequencesOf(loop, op, values);
  const int64_t trips = MaxTrips(op, sequences, values);
  bool goes_on =
      op.Input("Cond").empty() ||
      OneElement<bool>(ValueOf(op.Input("Cond")[0], values), op.type, "Cond");
  Block block = MakeBlock(program, loop.block, ResultsOf(loop), values);
  std::vector<Tensor> carried;
  for (const std::string& first : op.Input("Carried")) {
    carried.push_back(ValueOf(first, values));
  }
  std::vector<std::vector<Tensor>> stacked(loop.stacked.size());
  int64_t count = 0;
  for (int64_t i = 0; i < trips && goes_on; ++i) {
    CheckCancelled();
    CheckLoopLimit(op.type, i, loop);
    Values results;
    try {
      results = RunIteration(loop, i, trips, carried, sequences, &block);
      ++count;
    } catch (Error& error) {
      error.AddContext(Format("in iteration {} of {}", i, op.type));
      throw;
    }
    for (size_t k = 0; k < carried.size(); ++k) {
      carried[k] = results.at(loop.carried_out[k]);
    }
    for (size_t k = 0; k < stacked.size(); ++k) {
      stacked[k].push_back(results.at(loop.stacked[k]));
    }
    if (!loop.condition_out.empty()) {
      goes_on = OneElement<bool>(results.at(loop.condition_out), op.type,
                                 "condition_out");
    }
  }
  for (size_t k = 0; k < stacked.size(); ++k) {
    const VarDesc* each = program.blocks()[loop.block].FindVar(loop.stacked[k]);
    const int64_t axis = loop.stacked_axes.empty() ? 0 : loop.stacked_axes[k];
    Tensor whole = Stack(
        stacked[k], each == nullptr ? program.FindVar(loop.stacked[k]) : *each,
        axis, !loop.stacked_reversed.empty() && loop.stacked_reversed[k] != 0);
    carried.push_back(loop.max_trips == 0
                          ? std::move(whole)
                          : Extended(whole, axis, loop.max_trips));
  }
  if (loop.max_trips > 0) {
    Tensor trips_run;
    trips_run.mutable_data<int64_t>({1}, CPUPlace())[0] = count;
    carried.push_back(std::move(trips_run));
  }
  return carried;
}

void Executor::Runner::RunBlockOp(const Program& program,
                                  const OpDesc& op,
                                  Values* values) {
  const OpSchema& schema = Registry::Global().Schema(op.type);
  std::vector<Tensor> tensors = schema.role() == OpRole::kIf
                                    ? RunIf(program, op, *values)
                                    : RunLoop(program, op, *values);
  size_t next = 0;
  for (const auto& [argument, vars] : op.outputs) {
    for (const std::string& var : vars) {
      (*values)[var] = std::move(tensors[next++]);
    }
  }
}

std::vector<Tensor> Executor::Runner::Run(const Program& program,
                                          const Feeds& feeds,
                                          const Fetches& fetches,
                                          const std::string& name) {
  auto plan = run_plan_
                  ? executor_.Prepare(program, feeds, fetches)
                  : executor_.PrepareToRun(program, feeds, fetches, scope_);
  if (plan->whole()) {
    if (depth_ > 0) Note(name, plan);
    return RunOne(*plan, feeds);
  }
  ++depth_;
  Values done;
  Feeds next_feeds;
  const Feeds* fed = &feeds;
  for (int stretch = 1;; ++stretch) {
    Note(Format("{}, stretch {}", name, stretch), plan);
    std::vector<Tensor> tensors = RunOne(*plan, *fed);
    Values values(fed->begin(), fed->end());
    for (size_t i = 0; i < tensors.size(); ++i) {
      values[plan->result_names()[i]] = std::move(tensors[i]);
    }
    const PlanRest& rest = plan->rest();
    for (const int index : rest.block_ops) {
      const OpDesc& op = program.block().ops[index];
      try {
        RunBlockOp(program, op, &values);
      } catch (Error& error) {
        error.AddContext(Format("in op {} ({})", index, op.type));
        AddLocation(op.location, &error);
        throw;
      }
    }
    Fetches wanted;
    for (const FetchTarget& fetch : fetches) {
      const auto found = values.find(fetch.name());
      if (found != values.end()) done[fetch.name()] = found->second;
    }
    for (const std::string& fetch : rest.fetches) {
      if (done.count(fetch) == 0) wanted.emplace_back(fetch);
    }
    if (wanted.empty() && !rest.updates) break;
    Feeds computed;
    for (const std::string& var : rest.feeds) {
      computed.emplace_back(var, values.at(var));
    }
    next_feeds = std::move(computed);
    fed = &next_feeds;
    plan = executor_.PrepareWith(program, next_feeds, wanted, true);
  }
  --depth_;
  std::vector<Tensor> results;
  for (const FetchTarget& fetch : fetches) {
    results.push_back(done.at(fetch.name()));
  }
  return results;
}

}  // namespace sluice
