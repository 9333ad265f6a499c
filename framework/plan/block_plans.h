#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/choice/prepared_op.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

// Block ops that run inside of a plan: their blocks are prepared with it, and
// tensors cross without copies. Other block ops, whose blocks have shapes that
// change from run to run, run between two plans (Executor::Run).
namespace sluice {

// The origin of a value of a block: a result of its plan, or else an input of
// the op (a flat index) that the block returns unchanged.
struct BlockValue {
  int result = -1;
  int input = -1;
};

// One block: its plan, null if it computes nothing, and the inputs of the op
// that the plan's feeds get, by feed; -1 for those that the loop sets.
struct BlockPlan {
  int block = 0;  // index in the program
  std::shared_ptr<const Plan> plan;
  std::vector<int> feeds;
};

// The plans of one op of OpRole::kIf or kLoop. Immutable.
struct SLUICE_API BlockPlans {
  std::vector<BlockPlan> blocks;  // then and else, or the block of the loop
  std::vector<DDim> outputs;      // of the op; unknown sizes depend on data
  std::vector<DType> output_dtypes;
  // kIf: by output, for then and for else.
  std::vector<BlockValue> then_outputs;
  std::vector<BlockValue> else_outputs;
  // kLoop. Inputs are flat indices, feeds those of the plan; -1 for none.
  // The number of iterations by sequences or a constant; -1 if unknown.
  int64_t trips = -1;
  // That of the last run, 0 without one. Shared by all plans of the op.
  std::shared_ptr<std::atomic<int64_t>> last_trips;
  int max_trips = -1;
  int condition = -1;
  int first_carried = 0;
  int first_sequence = 0;
  int iteration_feed = -1;
  int condition_feed = -1;
  std::vector<int> carried_feeds;
  std::vector<int> slice_feeds;
  std::vector<BlockValue> carried_out;
  std::vector<BlockValue> stacked;
  std::vector<VarDesc> stacked_vars;  // as the program declares them
  BlockValue condition_out;

  // Predicted seconds: of both blocks of an if, or of all iterations: `trips`,
  // else those of the last run, else 1.
  double PredictedSeconds() const;
  // "12 trips", "12 trips, as last run", "trips unknown, 1 assumed".
  std::string TripsText() const;
};

// The predicted seconds of one op of a plan, by index in decisions(); those of
// an op that runs blocks change with its last run.
SLUICE_API double PredictedSeconds(const Plan& plan, size_t op);
// The blocks that it runs; null for none.
SLUICE_API const BlockPlans* BlocksOf(const Plan& plan, int op_index);

// Prepares the plan of a block; raises what PlanBuilder::Build raises.
using PrepareBlock = std::function<std::shared_ptr<const Plan>(
    const Program& block,
    std::vector<FeedSpec> feeds,
    std::vector<std::string> fetches)>;

// Returns the plans of a block op of `program` whose inputs have the shapes in
// `op`. Returns null, and the reason, if a shape or an effect is known only
// when the op runs. `trips` are those of a loop by a constant; -1 if unknown.
std::shared_ptr<const BlockPlans> PlanBlocks(const Program& program,
                                             const OpFacts& op,
                                             const PrepareBlock& prepare,
                                             int64_t trips,
                                             std::string* reason);

// The kernel that runs them.
std::shared_ptr<const OwnKernel> MakeBlockKernel(
    const OpDesc& op, const std::shared_ptr<const BlockPlans>& plans);

}  // namespace sluice
