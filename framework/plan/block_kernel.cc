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

namespace {
constexpr size_t kAlignment = 64;
}

// Any number of runs of one block inside of a kernel. Used by one thread.
class BlockRun {
 public:
  BlockRun(const BlockPlan& block, const OpKernelContext& context)
      : plan_(*block.plan), run_(context.run()), frame_(plan_.AcquireFrame()) {
    frame_->BeginInside(run_);
    for (size_t i = 0; i < block.feeds.size(); ++i) {
      if (block.feeds[i] < 0) continue;
      Feed(static_cast<int>(i)) = context.Input(block.feeds[i]);
    }
  }
  ~BlockRun() {
    frame_->Reset();
    plan_.ReleaseFrame(std::move(frame_));
  }
  BlockRun(const BlockRun&) = delete;
  BlockRun& operator=(const BlockRun&) = delete;

  // An input of the next run. To assign a tensor in the same memory is cheap:
  // no reference count changes.
  Tensor& Feed(int feed) { return frame_->feed(static_cast<size_t>(feed)); }
  // A result: the last run's, and the memory that the next run writes to.
  Tensor& Result(int result) {
    return frame_->result(static_cast<size_t>(result));
  }
  const Slot& SlotOf(int result) const {
    return plan_.result_slot(static_cast<size_t>(result));
  }

  void Run() {
    if (run_.observer != nullptr) Show();
    frame_->RunInside();
  }

 private:
  void Show() {
    Feeds named;
    for (size_t i = 0; i < plan_.feed_specs().size(); ++i) {
      named.emplace_back(plan_.feed_specs()[i].name, frame_->feed(i));
    }
    run_.observer->BeforeBlock(plan_, named, run_.scope);
  }

  const Plan& plan_;
  const RunState& run_;
  std::unique_ptr<Frame> frame_;
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
      run.Result(outputs[i].result) =
          context.AllocateOutput(static_cast<int>(i), plans_->outputs[i]);
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

// Gives a feed of one element memory of its own.
Tensor Scalar(const Plan& plan, int feed, BlockRun* run) {
  Tensor tensor;
  if (feed < 0) return tensor;
  const FeedSpec& spec = plan.feed_specs()[static_cast<size_t>(feed)];
  tensor.Resize(spec.dims).mutable_data(spec.dtype, CPUPlace());
  run->Feed(feed) = tensor;
  return tensor;
}

// Two tensors for a result in one block of memory.
std::array<Tensor, 2> TwoOf(const Slot& slot) {
  Tensor one;
  one.Resize(slot.dims);
  const size_t bytes = static_cast<size_t>(one.numel()) * SizeOf(slot.dtype);
  const size_t stride = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const auto memory = std::make_shared<Placeholder>(slot.place, 2 * stride);
  std::array<Tensor, 2> two;
  two[0].Bind(memory, 0, slot.dtype, slot.dims);
  two[1].Bind(memory, stride, slot.dtype, slot.dims);
  return two;
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
    explicit State(OpKernelContext& op) : context(op) {}

    OpKernelContext& context;
    int64_t trips = 0;        // at most
    int64_t count = 0;        // of iterations that have run
    BlockRun* run = nullptr;  // null: the block computes nothing
    // By result, unless it is computed where it is stacked: one is read as
    // carried while the other is written.
    std::vector<std::array<Tensor, 2>> storage;
    // By stacked variable: the output or, where the number of parts is not
    // planned, the parts.
    std::vector<Tensor*> stacked;
    std::vector<std::vector<Tensor>> parts;
    Tensor iteration;
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
  int64_t SequenceAxis(size_t k) const {
    return loop_.sequence_axes.empty() ? 0 : loop_.sequence_axes[k];
  }
  void FindSlices();
  void Begin(State* state) const;
  void SetSlices(State* state) const;
  void SetResults(State* state) const;
  void StackValues(State* state) const;
  void Finish(const State& state) const;
  static const Tensor& ValueOf(const BlockValue& value, const State& state) {
    return value.result < 0 ? state.context.Input(value.input)
                            : state.run->Result(value.result);
  }
  // The first value of carried variable k, or what the last iteration gave.
  const Tensor& Carried(size_t k, const State& state) const {
    return state.count > 0 ? ValueOf(plans_->carried_out[k], state)
                           : state.context.Input(plans_->first_carried +
                                                 static_cast<int>(k));
  }
  void Iterate(State* state) const;

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

int64_t LoopKernel::MostTrips(const OpKernelContext& context) const {
  int64_t trips = std::numeric_limits<int64_t>::max();
  if (plans_->max_trips >= 0) {
    trips = OneElement<int64_t>(context.Input(plans_->max_trips), type_,
                                "MaxTrips");
  }
  if (!loop_.slices.empty()) {
    const Tensor& sequence = context.Input(plans_->first_sequence);
    trips = std::min(trips, AxisView(sequence.dims(), SequenceAxis(0)).size);
  }
  return trips;
}

// Prepares what does not change from iteration to iteration.
void LoopKernel::Begin(State* state) const {
  state->parts.resize(plans_->stacked.size());
  for (size_t k = 0; k < plans_->stacked.size(); ++k) {
    const auto output = loop_.carried.size() + k;
    state->stacked.push_back(
        IsPlanned(k) ? &state->context.AllocateOutput(static_cast<int>(output),
                                                      plans_->outputs[output])
                     : nullptr);
  }
  if (state->run == nullptr) return;
  const Plan& plan = *plans_->blocks[0].plan;
  state->iteration = Scalar(plan, plans_->iteration_feed, state->run);
  Tensor condition = Scalar(plan, plans_->condition_feed, state->run);
  if (condition.allocated()) condition.data<bool>()[0] = true;
  for (size_t r = 0; r < slice_of_.size(); ++r) {
    auto& storage = state->storage.emplace_back();
    if (slice_of_[r] >= 0) continue;
    storage = TwoOf(state->run->SlotOf(static_cast<int>(r)));
  }
}

// Sets the elements of the sequences that the next iteration reads.
void LoopKernel::SetSlices(State* state) const {
  for (size_t k = 0; k < loop_.slices.size(); ++k) {
    if (plans_->slice_feeds[k] < 0) continue;
    const Tensor& whole =
        state->context.Input(plans_->first_sequence + static_cast<int>(k));
    Tensor& slice = state->run->Feed(plans_->slice_feeds[k]);
    const AxisView view(whole.dims(), SequenceAxis(k));
    const auto index = [&](int64_t iteration) {
      return SequenceIndex(loop_, k, iteration, state->trips, view.size);
    };
    const int64_t at = index(state->count);
    if (state->count == 0) {
      slice = SliceOf(whole, view.axis, at);
    } else if (view.axis == 0) {
      slice.Advance(at - index(state->count - 1));
    } else {
      GetSlice(whole, view.axis, at, &slice);
    }
  }
}

// Sets where the next iteration computes its results.
void LoopKernel::SetResults(State* state) const {
  for (size_t r = 0; r < slice_of_.size(); ++r) {
    Tensor& result = state->run->Result(static_cast<int>(r));
    if (slice_of_[r] < 0) {
      result = state->storage[r][static_cast<size_t>(state->count & 1)];
      continue;
    }
    const auto k = static_cast<size_t>(slice_of_[r]);
    if (state->count > 0) {
      result.Advance(IsReversed(k) ? -1 : 1);
    } else {
      result =
          SliceOf(*state->stacked[k], 0, IsReversed(k) ? state->trips - 1 : 0);
    }
  }
}

void LoopKernel::Iterate(State* state) const {
  if (state->run != nullptr) {
    if (state->iteration.allocated()) {
      state->iteration.data<int64_t>()[0] = state->count;
    }
    // All carried values first: they are the results that are set next.
    for (size_t k = 0; k < loop_.carried.size(); ++k) {
      const int feed = plans_->carried_feeds[k];
      if (feed >= 0) state->run->Feed(feed) = Carried(k, *state);
    }
    SetSlices(state);
    SetResults(state);
    state->run->Run();
  }
  StackValues(state);
  ++state->count;
}

void LoopKernel::StackValues(State* state) const {
  for (size_t k = 0; k < plans_->stacked.size(); ++k) {
    const int result = plans_->stacked[k].result;
    const bool in_place =
        result >= 0 &&
        slice_of_[static_cast<size_t>(result)] == static_cast<int>(k);
    if (in_place) continue;
    const Tensor& part = ValueOf(plans_->stacked[k], *state);
    if (state->stacked[k] == nullptr) {
      state->parts[k].push_back(part.CopyTo(CPUPlace()));
      continue;
    }
    SetSlice(part, StackedAxis(k),
             IsReversed(k) ? state->trips - 1 - state->count : state->count,
             state->stacked[k]);
  }
}

// Gives what was carried last, what was not planned, and the rest of what was.
void LoopKernel::Finish(const State& state) const {
  const size_t carried = loop_.carried.size();
  for (size_t k = 0; k < carried; ++k) {
    Give(state.context, static_cast<int>(k), Carried(k, state));
  }
  for (size_t k = 0; k < plans_->stacked.size(); ++k) {
    if (state.stacked[k] == nullptr) {
      Give(state.context, static_cast<int>(carried + k),
           Stack(state.parts[k], plans_->stacked_vars[k], StackedAxis(k),
                 IsReversed(k)));
    } else if (loop_.max_trips > 0) {
      ClearSlices(StackedAxis(k), state.count, state.stacked[k]);
    }
  }
  if (loop_.max_trips > 0) {
    const auto trips = static_cast<int>(carried + plans_->stacked.size());
    state.context.AllocateOutput(trips, {1}).data<int64_t>()[0] = state.count;
  }
}

void LoopKernel::Compute(OpKernelContext& context) const {
  State state(context);
  state.trips = MostTrips(context);
  bool goes_on =
      plans_->condition < 0 ||
      OneElement<bool>(context.Input(plans_->condition), type_, "Cond");
  std::unique_ptr<BlockRun> run;
  if (plans_->blocks[0].plan != nullptr) {
    run = std::make_unique<BlockRun>(plans_->blocks[0], context);
    state.run = run.get();
  }
  Begin(&state);
  while (state.count < state.trips && goes_on) {
    CheckCancelled();
    CheckLoopLimit(type_, state.count, loop_);
    try {
      Iterate(&state);
    } catch (Error& error) {
      error.AddContext(Format("in iteration {} of {}", state.count, type_));
      throw;
    }
    if (!loop_.condition_out.empty()) {
      goes_on = OneElement<bool>(ValueOf(plans_->condition_out, state), type_,
                                 "condition_out");
    }
  }
  plans_->last_trips->store(state.count, std::memory_order_relaxed);
  Finish(state);
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
