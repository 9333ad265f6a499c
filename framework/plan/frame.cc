#include "sluice/framework/plan/frame.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <string_view>
#include <utility>

#include <cxxabi.h>
#include <pthread.h>

#include "sluice/framework/plan/run_hooks.h"
#include "sluice/framework/plan/run_observer.h"
#include "sluice/framework/plan/unfinished_ops.h"
#include "sluice/platform/cancel.h"
#include "sluice/platform/device.h"
#include "sluice/platform/device_context_pool.h"
#include "sluice/platform/error.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {

namespace {

// E.g. "for top_k.Out (float32 [2, 1]) of op 3 (top_k), created at net.py:7".
std::string ForWhat(const Plan& plan, const Slot& slot) {
  std::string text = Format("for {} ({} {})", slot.var, slot.dtype, slot.dims);
  for (size_t i = 0; i < plan.op_descs().size(); ++i) {
    const OpDesc& op = plan.op_descs()[i];
    for (const auto& [argument, vars] : op.outputs) {
      if (std::find(vars.begin(), vars.end(), slot.var) == vars.end()) continue;
      text += Format(" of op {} ({})", i, op.type);
      const std::string location = DescribeLocation(op.location);
      return location.empty() ? text : Format("{}, {}", text, location);
    }
  }
  return text;
}

// Raises for a persistable without a value, at the op that first uses it.
[[noreturn]] void RaiseEmpty(const Plan& plan, const Slot& slot) {
  const auto uses = [&](const auto& arguments) {
    return std::any_of(arguments.begin(), arguments.end(),
                       [&](const auto& argument) {
                         return std::count(argument.second.begin(),
                                           argument.second.end(), slot.var) > 0;
                       });
  };
  std::string line;
  for (size_t i = 0; i < plan.op_descs().size(); ++i) {
    const OpDesc& op = plan.op_descs()[i];
    if (!uses(op.inputs) && !uses(op.outputs)) continue;
    line = DescribeLocation(op.location);
    break;
  }
  Raise(ErrorCode::kFailedPrecondition, "run.uninitialised",
        "parameter {} ({} {}) is not initialised: run the startup program "
        "first{}{}",
        slot.var, slot.dtype, slot.dims, line.empty() ? "" : "\n", line);
}

[[noreturn]] void RaiseForeign(std::string_view what,
                               const std::string& where) {
  Raise(ErrorCode::kInternal, "run.foreign_exception",
        "a kernel raised {}\n  {}", what, where);
}

// During its life pthread_cancel does not end the thread.
class NoThreadCancel {
 public:
  NoThreadCancel() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoThreadCancel() { pthread_setcancelstate(before_, nullptr); }
  NoThreadCancel(const NoThreadCancel&) = delete;
  NoThreadCancel& operator=(const NoThreadCancel&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace

RunObserver::~RunObserver() = default;

Frame::Frame(const Plan& plan, ArenaPool::Block* block)
    : plan_(plan), block_(block), tensors_(plan.slots_.size()) {
  BindSlots();
  for (const QueueSpec& queue : plan.queues_) {
    devices_.push_back(
        queue.make != nullptr
            ? queue.make()
            : DeviceManager::Instance().Get(queue.place).CreateContext());
  }
  MakeContexts();
  for (const auto& [name, hooks] : plan.hooks_) {
    hooks_.push_back(CallHooks(name, [&] { return hooks->NewFrame(); }));
  }
}

// Gives each value its place in the plan's memory.
void Frame::BindSlots() {
  const bool isolate = plan_.options_.isolate;
  std::map<PlaceKey, std::shared_ptr<Placeholder>> arenas;
  // Each value gets its own allocation, so that tools that check allocations
  // also check values.
  std::map<const Slot*, std::shared_ptr<Placeholder>> values;
  if (!isolate) {
    for (const auto& [place, bytes] : plan_.arenas_) {
      const bool shared = block_ != nullptr && place == PlaceKey(CPUPlace());
      arenas[place] =
          shared ? block_->memory : ArenaPool::MemoryFor(place, bytes);
    }
  }
  for (size_t i = 0; i < plan_.slots_.size(); ++i) {
    const Slot& slot = plan_.slots_[i];
    const Slot& root = slot.alias_of < 0 ? slot : plan_.slots_[slot.alias_of];
    const size_t inside = slot.alias_offset;
    const bool planned =
        root.kind == SlotKind::kArena || root.kind == SlotKind::kScratch;
    if (planned && root.first >= 0 && isolate) {
      auto& value = values[&root];
      if (value == nullptr) {
        value = std::make_shared<Placeholder>(root.place, root.bytes);
      }
      tensors_[i].Bind(value, inside, slot.dtype, slot.dims);
    } else if (planned && root.first >= 0) {
      tensors_[i].Bind(arenas[root.place], root.offset + inside, slot.dtype,
                       slot.dims);
    } else if (slot.kind != SlotKind::kLate) {
      tensors_[i].Resize(slot.dims);
    }
  }
}

void Frame::MakeContexts() {
  size_t count = 0;
  for (const PlannedOp& op : plan_.ops_) {
    count += op.inputs.size() + op.outputs.size();
  }
  // Contexts keep pointers into `arguments_`, so it must not reallocate.
  arguments_.reserve(count);
  contexts_.reserve(plan_.ops_.size());
  auto& host = DeviceContextPool::Instance().Get(CPUPlace());
  for (const PlannedOp& op : plan_.ops_) {
    Tensor* const* inputs = arguments_.data() + arguments_.size();
    for (const int slot : op.inputs) {
      arguments_.push_back(&tensors_[slot]);
    }
    Tensor* const* outputs = arguments_.data() + arguments_.size();
    for (const int slot : op.outputs) {
      arguments_.push_back(&tensors_[slot]);
    }
    contexts_.emplace_back(
        op.arguments, op.place, op.device < 0 ? host : *devices_[op.device],
        inputs, outputs,
        op.scratch < 0 ? nullptr : tensors_[op.scratch].raw_data(), &run_);
  }
}

Frame::~Frame() = default;

void Frame::Begin(const Feeds& feeds, Scope* scope) {
  for (size_t i = 0; i < feeds.size(); ++i) {
    Tensor& feed = tensors_[plan_.feed_slots_[i]] = feeds[i].second;
    // Kernels read whole elements, but a feed may be misaligned. raw_data() of
    // a non-const tensor would count as a change.
    const auto address =
        reinterpret_cast<uintptr_t>(std::as_const(feed).raw_data());
    if (address % SizeOf(feed.dtype()) != 0) [[unlikely]] {
      feed = feed.CopyTo(feed.place());
    }
  }
  run_ = {.scope = scope, .changed = &changed_};
  BindAliases();
  TakeStep();
  for (const int index : plan_.fetch_slots_) {
    AllocateOwn(index);
  }
  BindPersistables();
  BindShadows();
  ForHooks([&](FrameHooks& hooks) { hooks.BeforeRun(scope); });
}

void Frame::BindAliases() {
  for (const int slot : plan_.feed_aliases_) {
    const Slot& alias = plan_.slots_[slot];
    tensors_[slot] = tensors_[alias.alias_of];
    tensors_[slot].Resize(alias.dims);
  }
}

void Frame::TakeStep() {
  if (!plan_.random_) return;
  run_.step = run_.scope == nullptr ? 0 : run_.scope->TakeStep();
  for (RunHooks* hooks : ActiveRunHooks()) {
    run_.step = CallHooks(hooks->name(),
                          [&] { return hooks->RandomStep(plan_, run_.step); });
  }
}

void Frame::BeginInside(const RunState& run) {
  run_ = run;
  BindPersistables();
}

void Frame::RunInside() {
  BindAliases();
  TakeStep();
  if (run_.observer != nullptr && run_.observer->enters_blocks()) {
    ExecuteObserved(*run_.observer);
  } else {
    Execute();
  }
}

void Frame::NoteFailure() noexcept {
  changed_.TakeBack();
  for (const auto& hooks : hooks_) {
    hooks->OnFailure();
  }
}

template <typename Call>
void Frame::ForHooks(Call call) {
  for (size_t i = 0; i < hooks_.size(); ++i) {
    CallHooks(plan_.hooks_[i].first, [&] { call(*hooks_[i]); });
  }
}

void Frame::AllocateOwn(int index) {
  const Slot& slot = plan_.slots_[index];
  tensors_[index].Reset();
  if (slot.kind == SlotKind::kLate) return;
  try {
    tensors_[index].Resize(slot.dims).mutable_data(slot.dtype, slot.place);
  } catch (Error& error) {
    error.AddContext(ForWhat(plan_, slot));
    throw;
  }
}

void Frame::FindVariables() {
  if (plan_.persistable_slots_.empty() && plan_.shadow_slots_.empty()) return;
  SLUICE_ENFORCE(run_.scope != nullptr, ErrorCode::kInvalidArgument,
                 "run.no_scope",
                 "the program has persistable variables: run it with a scope");
  Scope& scope = *run_.scope;
  if (found_in_ == scope.layout()) return;
  persistables_.clear();
  shadow_targets_.clear();
  found_in_ = {};
  // Shadows first, since they create variables that persistables may name.
  for (const int index : plan_.shadow_slots_) {
    const std::string& name = plan_.slots_[index].var;
    Variable* variable = scope.FindVar(name);
    shadow_targets_.push_back(variable == nullptr ? &scope.Var(name)
                                                  : variable);
  }
  for (const int index : plan_.persistable_slots_) {
    persistables_.push_back(scope.FindVar(plan_.slots_[index].var));
  }
  found_in_ = scope.layout();
}

void Frame::BindPersistables() {
  FindVariables();
  for (size_t i = 0; i < persistables_.size(); ++i) {
    const int index = plan_.persistable_slots_[i];
    const Slot& slot = plan_.slots_[index];
    const Variable* variable = persistables_[i];
    const Tensor* tensor =
        variable == nullptr ? nullptr : variable->Get<Tensor>();
    if (tensor == nullptr || !tensor->allocated()) RaiseEmpty(plan_, slot);
    SLUICE_ENFORCE(tensor->dtype() == slot.dtype && tensor->dims() == slot.dims,
                   ErrorCode::kInvalidArgument, "run.persistable_type",
                   "persistable variable {} must be {} {}, the scope holds {}",
                   slot.var, slot.dtype, slot.dims, *tensor);
    tensors_[index] = variable->TensorAt(slot.place);
  }
}

// Binds the new value of a persistable to the memory of slot `former`, if only
// the scope and this frame hold that; otherwise to a shadow.
void Frame::BindShadow(int index, int former) {
  if (former >= 0 && !tensors_[former].holder()->borrowed() &&
      tensors_[former].holder().use_count() == 2) {
    tensors_[index] = tensors_[former];
  } else if (!tensors_[index].allocated()) {
    AllocateOwn(index);
  }
}

// An update of few rows changes the scope's tensor, or copies it first.
void Frame::BindShadows() {
  for (size_t i = 0; i < shadow_targets_.size(); ++i) {
    const int index = plan_.shadow_slots_[i];
    if (plan_.commit().replaced[index] < 0) {
      BindShadow(index, plan_.slots_[index].updates);
    }
    // The tensor is created now, so that Finish cannot fail.
    shadow_targets_[i]->GetMutable<Tensor>();
  }
}

// Whether the commit wrote to the scope's memory.
bool Frame::IsInPlace(int shadow) const noexcept {
  const int former = plan_.commit().replaced[shadow];
  return former >= 0 &&
         tensors_[shadow].raw_data() == tensors_[former].raw_data();
}

// Binds what the commit may write in place.
void Frame::BindCommit(bool in_place) {
  for (const int index : plan_.shadow_slots_) {
    const int former = plan_.commit().replaced[index];
    if (former >= 0) BindShadow(index, in_place ? former : -1);
  }
}

void Frame::DeviceCompute(const Instruction& instruction) {
  DeviceContext& device = *devices_[instruction.device];
  device.SetOpIndex(instruction.op_index);
  const bool exchanges =
      plan_.queues_[instruction.device].role == QueueRole::kOwn;
  if (exchanges) {
    ForHooks([&](FrameHooks& hooks) { hooks.BeforeExchange(instruction); });
  }
  device.Compute(
      [&] { instruction.kernel->Compute(contexts_[instruction.context]); });
  if (exchanges) {
    ForHooks([&](FrameHooks& hooks) { hooks.AfterExchange(instruction); });
  }
}

void Frame::Wait(DeviceContext& device) {
  ForHooks([](FrameHooks& hooks) { hooks.BeforeWait(); });
  device.Wait();
}

void Frame::Copy(const Instruction& instruction) {
  Tensor& to = tensors_[instruction.to];
  const Tensor& from = tensors_[instruction.from];
  const size_t bytes = plan_.slots_[instruction.to].bytes;
  DeviceContext& device = instruction.device < 0
                              ? DeviceContextPool::Instance().Get(CPUPlace())
                              : *devices_[instruction.device];
  device.SetOpIndex(instruction.op_index);
  switch (instruction.kind) {
    case InstructionKind::kCopyFromHost:
      return device.CopyFromHost(to.raw_data(), from.raw_data(), bytes);
    case InstructionKind::kCopyToHost:
      return device.CopyToHost(to.raw_data(), from.raw_data(), bytes);
    default:
      return device.CopyOnDevice(to.raw_data(), from.raw_data(), bytes);
  }
}

inline void Frame::Step(const Instruction& instruction) {
  switch (instruction.kind) {
    case InstructionKind::kCompute:
      instruction.kernel->Compute(contexts_[instruction.context]);
      break;
    case InstructionKind::kDeviceCompute:
      DeviceCompute(instruction);
      break;
    case InstructionKind::kWait:
      Wait(*devices_[instruction.device]);
      break;
    case InstructionKind::kQueueWait:
      devices_[instruction.device]->WaitFor(*devices_[instruction.from]);
      break;
    default:
      Copy(instruction);
      break;
  }
}

std::string Frame::DescribeOp(int op_index) const {
  if (op_index < 0) return "after the last op";
  const OpDesc& op = plan_.op_descs()[op_index];
  std::string text = Format("in op {} ({})", op_index, op.type);
  const std::string location = DescribeLocation(op.location);
  if (!location.empty()) text += ", " + location;
  return text;
}

std::string Frame::DescribeLoss(const Instruction& instruction) const {
  const std::string noticed =
      "noticed " + DescribeOp(instruction.op_index) + "; ";
  const std::vector<int> ops = UnfinishedOps(plan_, instruction);
  if (ops.empty()) return noticed + "no kernel of this run was at work";
  if (ops.size() == 1) return DescribeOp(ops[0]);
  const auto name = [this](int op) {
    return Format("{} ({})", op, plan_.op_descs()[op].type);
  };
  return noticed +
         Format(
             "it was one of {} ops, from {} to {}: a run that waits after "
             "every op (RunSynchronised; in Python run_checked) says which",
             ops.size(), name(ops.front()), name(ops.back()));
}

void Frame::RethrowAt(const Instruction* instruction, bool synchronised) {
  int op_index = instruction->op_index;
  bool known = synchronised || instruction->device < 0;
  if (instruction->kind == InstructionKind::kWait) {
    // The queue's FailedOp is more exact than the op that waited, unless the
    // device names an op that this plan does not have.
    const int failed = devices_[instruction->device]->FailedOp();
    const bool is_op =
        failed >= 0 && failed < static_cast<int>(plan_.op_descs().size());
    if (is_op) op_index = failed;
    known = known || is_op;
  }
  const std::string where = DescribeOp(op_index);
  try {
    throw;
  } catch (Error& error) {
    const bool lost = error.code() == ErrorCode::kDeviceLost;
    error.AddContext(lost && !known ? DescribeLoss(*instruction) : where);
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    RaiseForeign(Format("\"{}\"", error.what()), where);
  } catch (const abi::__forced_unwind&) {
    throw;  // the thread is being cancelled
  } catch (...) {
    RaiseForeign("what is no std::exception", where);
  }
}

void Frame::RunCommit() {
  const NoThreadCancel guard;
  const PlanCommit& commit = plan_.commit();
  const size_t together = commit.together;
  std::atomic<size_t> next{0};
  ParallelFor(together == 0 ? 0 : NumThreads(), 1, [&](int64_t, int64_t) {
    for (size_t i = next++; i < together; i = next++) {
      Step(*commit.steps[i]);
    }
  });
  for (size_t i = together; i < commit.steps.size(); ++i) {
    Step(*commit.steps[i]);
  }
}

void Frame::Execute() {
  const Instruction* current = plan_.instructions_.data();
  const Instruction* const end = current + plan_.instructions_.size();
  const Instruction* const commit = current + plan_.commit().begin;
  try {
    for (; current != commit; ++current) {
      if (CancelRequested()) [[unlikely]] {
        CheckCancelled();
      }
      Step(*current);
      if (!hooks_.empty()) [[unlikely]] {
        ForHooks([&](FrameHooks& hooks) { hooks.AfterInstruction(*current); });
      }
    }
    if (commit == end) return;
    CheckCancelled();
    ReserveResults();
    BindCommit(true);
    RunCommit();
  } catch (...) {
    RethrowAt(current, false);
  }
}

// The observer may end the run after any instruction, so that nothing is
// written in place but what a RowLog keeps.
void Frame::ExecuteObserved(RunObserver& observer) {
  run_.observer = &observer;
  BindCommit(false);
  for (const Instruction& instruction : plan_.instructions_) {
    try {
      CheckCancelled();
      observer.Before(plan_, instruction, tensors_.data());
      Step(instruction);
      if (instruction.device >= 0 && observer.synchronise()) {
        Wait(*devices_[instruction.device]);
      }
      ForHooks([&](FrameHooks& hooks) { hooks.AfterInstruction(instruction); });
      observer.After(plan_, instruction, tensors_.data());
    } catch (...) {
      RethrowAt(&instruction, observer.synchronise());
    }
  }
}

// Raises what Finish could raise: a commit must not be followed by an error. No
// kernel of a commit allocates a result.
void Frame::ReserveResults() {
  results_.reserve(plan_.fetch_slots_.size());
  for (const int slot : plan_.fetch_slots_) {
    SLUICE_ENFORCE(tensors_[slot].allocated(), ErrorCode::kInternal,
                   "run.no_output", "the kernel did not allocate its output {}",
                   ForWhat(plan_, plan_.slots_[slot]));
  }
}

std::vector<Tensor> Frame::Finish(Scope* /*scope*/) {
  ReserveResults();
  std::vector<Tensor> results = std::move(results_);
  for (const int slot : plan_.fetch_slots_) {
    Tensor& result = tensors_[slot];
    // Reset empties the queues, which would hide that the last wait is missing.
    const bool look_now = plan_.options_.drop_wait_for_testing >= 0;
    results.push_back(look_now ? result.CopyTo(CPUPlace()) : std::move(result));
  }
  for (size_t i = 0; i < shadow_targets_.size(); ++i) {
    const int index = plan_.shadow_slots_[i];
    if (IsInPlace(index)) continue;
    std::swap(*shadow_targets_[i]->GetMutable<Tensor>(), tensors_[index]);
  }
  changed_.Forget();
  return results;
}

// Whether the next run may write its update to the memory of the value before
// the last update: only if no other tensor shares it.
bool Frame::MayReuse(int shadow) const noexcept {
  const Slot& slot = plan_.slots_[shadow];
  const Tensor& tensor = tensors_[shadow];
  const auto address = reinterpret_cast<uintptr_t>(tensor.raw_data());
  return tensor.allocated() && address % 64 == 0 &&
         tensor.bytes() <= kKeptShadow && tensor.dims() == slot.dims &&
         tensor.dtype() == slot.dtype && tensor.place() == slot.place &&
         !tensor.holder()->borrowed() && tensor.holder().use_count() == 1;
}

void Frame::Reset() noexcept {
  // An earlier error is already being raised.
  const auto wait = [](DeviceContext& queue) {
    try {
      queue.Wait();
    } catch (...) {
    }
  };
  for (const auto& hooks : hooks_) {
    hooks->AfterRun();
  }
  for (auto& device : devices_) {
    wait(*device);
  }
  for (OpKernelContext& context : contexts_) {
    context.ReleaseTemporaries();
  }
  for (const int slot : plan_.shadow_slots_) {
    if (IsInPlace(slot)) tensors_[slot].Reset();
  }
  for (const auto* slots :
       {&plan_.feed_slots_, &plan_.feed_aliases_, &plan_.fetch_slots_,
        &plan_.late_slots_, &plan_.persistable_slots_}) {
    for (const int slot : *slots) {
      tensors_[slot].Reset();
    }
  }
  for (const int slot : plan_.shadow_slots_) {
    if (!MayReuse(slot)) tensors_[slot].Reset();
  }
  run_ = {};
}

}  // namespace sluice
