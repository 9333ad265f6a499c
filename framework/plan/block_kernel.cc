// The kernels of block ops whose blocks run inside of a plan.
#include <algorithm>
#include <cstring>
#include <limits>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/plan/block_plans.h"
#include "sluice/framework/plan/block_values.h"
#include "sluice/framework/plan/frame.h"
#include "sluice/framework/plan/run_observer.h"
#include "sluice/framework/program/block_ops.h"
#include "sluice/platform/cancel.h"
#include "sluice/platform/error.h"
#include "sluice/platform/place.h"

namespace sluice {

// Any number of runs of one block inside of a kernel. Used by one thread.
class BlockRun {
 public:
  BlockRun(const BlockPlan& block, const OpKernelContext& context)
      : plan_(*block.plan),
        run_(context.run()),
        frame_(plan_.AcquireFrame()),
        feeds_(block.feeds.size()),
        results_(plan_.result_names().size()) {
    frame_->BeginInside(run_);
    for (size_t i = 0; i < block.feeds.size(); ++i) {
      if (block.feeds[i] >= 0) {
        Feed(static_cast<int>(i), context.Input(block.feeds[i]));
      }
    }
  }
  ~BlockRun() {
    frame_->Reset();
    plan_.ReleaseFrame(std::move(frame_));
  }
  BlockRun(const BlockRun&) = delete;
  BlockRun& operator=(const BlockRun&) = delete;

  // Ignores -1, a value that the block does not read.
  void Feed(int feed, const Tensor& value) {
    if (feed >= 0) feeds_[static_cast<size_t>(feed)] = value;
  }
  // The storage of the next run's result.
  void Store(int result, const Tensor& storage) {
    results_[static_cast<size_t>(result)] = storage;
  }
  Tensor NewStorage(int result) const {
    const Slot& slot = plan_.result_slot(static_cast<size_t>(result));
    Tensor tensor;
    tensor.Resize(slot.dims).mutable_data(slot.dtype, slot.place);
    return tensor;
  }
  const Tensor& Result(int result) const {
    return results_[static_cast<size_t>(result)];
  }

  void Run() {
    for (size_t i = 0; i < feeds_.size(); ++i) {
      frame_->SetFeed(i, feeds_[i]);
    }
    for (size_t i = 0; i < results_.size(); ++i) {
      frame_->SetResult(i, results_[i]);
    }
    if (run_.observer != nullptr) {
      Feeds named;
      for (size_t i = 0; i < feeds_.size(); ++i) {
        named.emplace_back(plan_.feed_specs()[i].name, feeds_[i]);
      }
      run_.observer->BeforeBlock(plan_, named, run_.scope);
    }
    frame_->RunInside();
  }

 private:
  const Plan& plan_;
  const RunState& run_;
  std::unique_ptr<Frame> frame_;
  std::vector<Tensor> feeds_;
  std::vector<Tensor> results_;
};

namespace {

// Copies a value to an output, unless it was computed there.
void Give(OpKernelContext& context, int output, const Tensor& value) {
  Tensor& to = context.AllocateOutput(output, value.dims());
  const void* from = value.raw_data();
  if (std::as_const(to).raw_data() == from || value.bytes() == 0) return;
  std::memcpy(to.raw_data(), from, value.bytes());
}

class IfKernel final : public OpKernel {
 public:
  explicit IfKernel(std::shared_ptr<const BlockPlans> plans)
      : plans_(std::move(plans)) {}

  void Compute(OpKernelContext& context) const override {
    const bool holds =
        OneElement<bool>(context.Input(plans_->condition), "if", "Cond");
    const BlockPlan& block = plans_->blocks[holds ? 0 : 1];
    const auto& outputs = holds ? plans_->then_outputs : plans_->else_outputs;
    if (block.plan == nullptr) {
      for (size_t i = 0; i < outputs.size(); ++i) {
        Give(context, static_cast<int>(i), context.Input(outputs[i].input));
      }
      return;
    }
    BlockRun run(block, context);
    std::vector<uint8_t> stored(block.plan->result_names().size(), 0);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].result < 0) continue;
      auto& is_stored = stored[static_cast<size_t>(outputs[i].result)];
      if (is_stored != 0) continue;
      is_stored = 1;
      run.Store(outputs[i].result, context.AllocateOutput(static_cast<int>(i),
                                                          plans_->outputs[i]));
    }
    run.Run();
    for (size_t i = 0; i < outputs.size(); ++i) {
      Give(context, static_cast<int>(i),
           outputs[i].result < 0 ? context.Input(outputs[i].input)
                                 : run.Result(outputs[i].result));
    }
  }

 private:
  std::shared_ptr<const BlockPlans> plans_;
};

Tensor Scalar(const Plan& plan, int feed) {
  Tensor tensor;
  if (feed < 0) return tensor;
  const FeedSpec& spec = plan.feed_specs()[static_cast<size_t>(feed)];
  tensor.Resize(spec.dims).mutable_data(spec.dtype, CPUPlace());
  return tensor;
}

class LoopKernel final : public OpKernel {
 public:
  LoopKernel(const OpDesc& op, std::shared_ptr<const BlockPlans> plans)
      : type_(op.type), loop_(LoopBlockOf(op)), plans_(std::move(plans)) {
    FindSlices();
  }

  void Compute(OpKernelContext& context) const override;

 private:
  // The values of one run.
  struct State {
    std::vector<Tensor> carried;
    std::vector<Tensor> next;
    // Two buffers of each result: one is read as carried while the other is
    // written.
    std::vector<std::array<Tensor, 2>> storage;
    // By stacked variable: the parts, where their number is not planned.
    std::vector<std::vector<Tensor>> parts;
    Tensor iteration;
    Tensor condition;
    int64_t count = 0;  // of iterations that have run
  };

  int64_t MostTrips(const OpKernelContext& context) const;
  bool IsPlanned(size_t stacked) const {
    return plans_->outputs[loop_.carried.size() + stacked].known();
  }
  int64_t StackedAxis(size_t k) const {
    return loop_.stacked_axes.empty() ? 0 : loop_.stacked_axes[k];
  }
  bool IsReversed(size_t k) const {
    return !loop_.stacked_reversed.empty() && loop_.stacked_reversed[k] != 0;
  }
  Tensor& Stacked(size_t k, OpKernelContext& context) const {
    const auto output = loop_.carried.size() + k;
    return context.AllocateOutput(static_cast<int>(output),
                                  plans_->outputs[output]);
  }
  void FindSlices();
  void Store(int64_t i,
             int64_t trips,
             OpKernelContext& context,
             BlockRun* run,
             const State& state) const;
  void StackValues(int64_t i,
                   int64_t trips,
                   OpKernelContext& context,
                   const BlockRun* run,
                   State* state) const;
  void Finish(OpKernelContext& context, const State& state) const;
  static const Tensor& ValueOf(const BlockValue& value,
                               const OpKernelContext& context,
                               const BlockRun* run) {
    return value.result < 0 ? context.Input(value.input)
                            : run->Result(value.result);
  }
  void Iterate(int64_t i,
               int64_t trips,
               OpKernelContext& context,
               BlockRun* run,
               State* state) const;

  std::string type_;
  LoopBlock loop_;
  std::shared_ptr<const BlockPlans> plans_;
  // By result of the block: what it is stacked to if an iteration can compute
  // it there, else -1.
  std::vector<int> slice_of_;
};

// A result is computed where it is stacked if slices of the first axis begin at
// addresses that are aligned as memory of their own is.
void LoopKernel::FindSlices() {
  constexpr size_t kAlignment = 64;
  const auto& plan = plans_->blocks[0].plan;
  if (plan == nullptr) return;
  slice_of_.assign(plan->result_names().size(), -1);
  for (size_t k = 0; k < plans_->stacked.size(); ++k) {
    const int result = plans_->stacked[k].result;
    if (result < 0 || !IsPlanned(k) || StackedAxis(k) != 0) continue;
    const Slot& slot = plan->result_slot(static_cast<size_t>(result));
    const auto count = static_cast<size_t>(slot.dims.numel());
    if (count * SizeOf(slot.dtype) % kAlignment != 0) continue;
    slice_of_[static_cast<size_t>(result)] = static_cast<int>(k);
  }
}

// Sets where iteration i computes its results.
void LoopKernel::Store(int64_t i,
                       int64_t trips,
                       OpKernelContext& context,
                       BlockRun* run,
                       const State& state) const {
  for (size_t r = 0; r < slice_of_.size(); ++r) {
    const auto result = static_cast<int>(r);
    if (slice_of_[r] < 0) {
      run->Store(result, state.storage[r][static_cast<size_t>(i & 1)]);
      continue;
    }
    const auto k = static_cast<size_t>(slice_of_[r]);
    run->Store(result, SliceOf(Stacked(k, context), 0,
                               IsReversed(k) ? trips - 1 - i : i));
  }
}

int64_t LoopKernel::MostTrips(const OpKernelContext& context) const {
  int64_t trips = std::numeric_limits<int64_t>::max();
  if (plans_->max_trips >= 0) {
    trips = OneElement<int64_t>(context.Input(plans_->max_trips), type_,
                                "MaxTrips");
  }
  if (!loop_.slices.empty()) {
    const int64_t axis =
        loop_.sequence_axes.empty() ? 0 : loop_.sequence_axes[0];
    const Tensor& sequence = context.Input(plans_->first_sequence);
    trips = std::min(trips, AxisView(sequence.dims(), axis).size);
  }
  return trips;
}

void LoopKernel::Iterate(int64_t i,
                         int64_t trips,
                         OpKernelContext& context,
                         BlockRun* run,
                         State* state) const {
  if (run != nullptr) {
    if (plans_->iteration_feed >= 0) {
      state->iteration.mutable_data<int64_t>(state->iteration.dims(),
                                             CPUPlace())[0] = i;
      run->Feed(plans_->iteration_feed, state->iteration);
    }
    run->Feed(plans_->condition_feed, state->condition);
    for (size_t k = 0; k < state->carried.size(); ++k) {
      run->Feed(plans_->carried_feeds[k], state->carried[k]);
    }
    for (size_t k = 0; k < loop_.slices.size(); ++k) {
      const int64_t axis =
          loop_.sequence_axes.empty() ? 0 : loop_.sequence_axes[k];
      const Tensor& whole =
          context.Input(plans_->first_sequence + static_cast<int>(k));
      const int64_t at =
          SequenceIndex(loop_, k, i, trips, AxisView(whole.dims(), axis).size);
      run->Feed(plans_->slice_feeds[k], SliceOf(whole, axis, at));
    }
    Store(i, trips, context, run, *state);
    run->Run();
  }
  // All of the next values first: one may be another one's last value.
  for (size_t k = 0; k < state->carried.size(); ++k) {
    state->next[k] = ValueOf(plans_->carried_out[k], context, run);
  }
  std::swap(state->carried, state->next);
  StackValues(i, trips, context, run, state);
}

void LoopKernel::StackValues(int64_t i,
                             int64_t trips,
                             OpKernelContext& context,
                             const BlockRun* run,
                             State* state) const {
  for (size_t k = 0; k < plans_->stacked.size(); ++k) {
    const int result = plans_->stacked[k].result;
    const bool in_place =
        result >= 0 &&
        slice_of_[static_cast<size_t>(result)] == static_cast<int>(k);
    if (in_place) continue;
    const Tensor& part = ValueOf(plans_->stacked[k], context, run);
    if (!IsPlanned(k)) {
      state->parts[k].push_back(part.CopyTo(CPUPlace()));
      continue;
    }
    SetSlice(part, StackedAxis(k), IsReversed(k) ? trips - 1 - i : i,
             &Stacked(k, context));
  }
}

// Gives what was carried last, what was not planned, and the rest of what was.
void LoopKernel::Finish(OpKernelContext& context, const State& state) const {
  for (size_t k = 0; k < state.carried.size(); ++k) {
    Give(context, static_cast<int>(k), state.carried[k]);
  }
  for (size_t k = 0; k < plans_->stacked.size(); ++k) {
    if (!IsPlanned(k)) {
      Give(context, static_cast<int>(state.carried.size() + k),
           Stack(state.parts[k], plans_->stacked_vars[k], StackedAxis(k),
                 IsReversed(k)));
    } else if (loop_.max_trips > 0) {
      ClearSlices(StackedAxis(k), state.count, &Stacked(k, context));
    }
  }
  if (loop_.max_trips > 0) {
    const size_t trips = state.carried.size() + plans_->stacked.size();
    context.AllocateOutput(static_cast<int>(trips), {1}).data<int64_t>()[0] =
        state.count;
  }
}

void LoopKernel::Compute(OpKernelContext& context) const {
  const int64_t trips = MostTrips(context);
  bool goes_on =
      plans_->condition < 0 ||
      OneElement<bool>(context.Input(plans_->condition), type_, "Cond");
  const BlockPlan& block = plans_->blocks[0];
  State state;
  state.parts.resize(plans_->stacked.size());
  state.next.resize(loop_.carried.size());
  for (size_t k = 0; k < loop_.carried.size(); ++k) {
    state.carried.push_back(
        context.Input(plans_->first_carried + static_cast<int>(k)));
  }
  std::unique_ptr<BlockRun> run;
  if (block.plan != nullptr) {
    run = std::make_unique<BlockRun>(block, context);
    state.iteration = Scalar(*block.plan, plans_->iteration_feed);
    state.condition = Scalar(*block.plan, plans_->condition_feed);
    if (state.condition.allocated()) state.condition.data<bool>()[0] = true;
    for (size_t r = 0; r < block.plan->result_names().size(); ++r) {
      const auto result = static_cast<int>(r);
      auto& storage = state.storage.emplace_back();
      if (slice_of_[r] >= 0) continue;
      storage = {run->NewStorage(result), run->NewStorage(result)};
    }
  }
  for (int64_t i = 0; i < trips && goes_on; ++i) {
    CheckCancelled();
    CheckLoopLimit(type_, i, loop_);
    try {
      Iterate(i, trips, context, run.get(), &state);
      ++state.count;
    } catch (Error& error) {
      error.AddContext(Format("in iteration {} of {}", i, type_));
      throw;
    }
    if (!loop_.condition_out.empty()) {
      goes_on =
          OneElement<bool>(ValueOf(plans_->condition_out, context, run.get()),
                           type_, "condition_out");
    }
  }
  Finish(context, state);
}

}  // namespace

std::shared_ptr<const OwnKernel> MakeBlockKernel(
    const OpDesc& op, const std::shared_ptr<const BlockPlans>& plans) {
  static const auto kDefine = [](const char* type) {
    KernelDef def;
    def.op = type;
    def.variant = "blocks";
    return def;
  };
  static const KernelDef kOfIf = kDefine("if");
  static const KernelDef kOfLoop = kDefine("loop");
  const bool is_if = Registry::Global().Schema(op.type).role() == OpRole::kIf;
  const auto kernel = std::make_shared<OwnKernel>();
  kernel->def = is_if ? &kOfIf : &kOfLoop;
  kernel->seconds = plans->PredictedSeconds();
  kernel->reason = "its blocks run inside of this plan";
  kernel->make = [op, plans, is_if]() -> std::unique_ptr<OpKernel> {
    if (is_if) return std::make_unique<IfKernel>(plans);
    return std::make_unique<LoopKernel>(op, plans);
  };
  return kernel;
}

}  // namespace sluice
