// PlanBuilder's functions for the location of values: slots, copies between
// places, waits, and memory.
#include <algorithm>
#include <map>

#include "sluice/framework/algorithms/memory_planner.h"
#include "sluice/framework/plan/plan_builder.h"
#include "sluice/memory/allocator.h"
#include "sluice/platform/device.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {
bool OnHost(PlaceKey place) {
  return place.kind == PlaceKind::kCPU;
}
}  // namespace

void PlanBuilder::SetBytes(Slot* slot) {
  const int64_t elements =
      slot->kind == SlotKind::kLate ? 0 : slot->dims.numel();
  const bool fits = !__builtin_mul_overflow(static_cast<size_t>(elements),
                                            SizeOf(slot->dtype), &slot->bytes);
  SLUICE_ENFORCE(fits, ErrorCode::kOutOfRange, "plan.bytes_overflow",
                 "{} ({} {}): its bytes do not fit into 64 bits", slot->var,
                 slot->dtype, slot->dims);
}

int PlanBuilder::AddSlot(Slot slot) {
  SetBytes(&slot);
  plan_->slots_.push_back(std::move(slot));
  written_by_.push_back(-1);
  written_at_.push_back(-1);
  return static_cast<int>(plan_->slots_.size()) - 1;
}

// Returns the queue for a kind of work at a place (for kernels, that of
// `lane`); -1 on the host.
int PlanBuilder::Queue(PlaceKey place, QueueRole role, int lane) {
  if (OnHost(place)) return -1;
  const auto& device = DeviceManager::Instance().Get(place);
  if (!device.copies_beside_kernels()) role = QueueRole::kAll;
  QueueSpec queue = {place, role};
  if (queue.runs_kernels()) queue.lane = lane;
  const auto& queues = plan_->queues_;
  for (size_t i = 0; i < queues.size(); ++i) {
    if (queues[i] == queue) return static_cast<int>(i);
  }
  return AddQueue(queue);
}

int PlanBuilder::AddQueue(const QueueSpec& queue) {
  plan_->queues_.push_back(queue);
  queues_.emplace_back();
  for (QueueState& state : queues_) {
    state.waited_for.resize(queues_.size(), -1);
  }
  return static_cast<int>(queues_.size()) - 1;
}

// Returns the slot of a kept value at `place`.
int PlanBuilder::KeptAt(const std::string& var, PlaceKey place) {
  const auto known = values_.find(var);
  if (known != values_.end()) {
    for (const int slot : known->second.slots) {
      if (plan_->slots_[slot].place == place) return slot;
    }
  }
  return AddPersistable(var, place);
}

// Returns the slot of `var` at `place`; copies it there if there is none yet.
int PlanBuilder::SlotAt(const std::string& var, PlaceKey place, int op_index) {
  if (IsKept(var)) return KeptAt(var, place);
  const Value value = UseValue(var);
  int on_host = -1;
  for (const int slot : value.slots) {
    if (plan_->slots_[slot].place == place) return slot;
    if (OnHost(plan_->slots_[slot].place)) on_host = slot;
  }
  Slot target;
  target.place = place;
  int from = value.slots.front();
  if (!OnHost(place)) {
    // Copies between devices go through the host.
    from = on_host >= 0 ? on_host : SlotAt(var, CPUPlace(), op_index);
  }
  const int slot = NewCopy(var, from, std::move(target), op_index);
  values_[var].slots.push_back(slot);
  return slot;
}

int PlanBuilder::NewCopy(const std::string& var,
                         int from,
                         Slot target,
                         int op_index) {
  target.var = var;
  target.dims = plan_->slots_[from].dims;
  target.dtype = plan_->slots_[from].dtype;
  const PlaceKey from_place = plan_->slots_[from].place;
  const PlaceKey to_place = target.place;
  const int to = AddSlot(std::move(target));
  if (from_place != to_place) {
    plan_->transfers_.push_back(
        {var, from_place, to_place, plan_->slots_[to].bytes, op_index, Now()});
  }
  EmitCopy(from, to, op_index);
  return to;
}

void PlanBuilder::EmitCopy(int from, int to, int op_index) {
  const PlaceKey from_place = plan_->slots_[from].place;
  const PlaceKey to_place = plan_->slots_[to].place;
  Instruction copy;
  copy.op_index = op_index;
  copy.from = from;
  copy.to = to;
  const int lane = LaneOf(op_index);
  if (OnHost(from_place) && OnHost(to_place)) {
    copy.kind = InstructionKind::kCopyOnHost;
  } else if (OnHost(to_place)) {
    copy.kind = InstructionKind::kCopyToHost;
    copy.device = Queue(from_place, QueueRole::kCopyToHost, lane);
  } else if (OnHost(from_place)) {
    copy.kind = InstructionKind::kCopyFromHost;
    copy.device = Queue(to_place, QueueRole::kCopyFromHost, lane);
  } else {
    copy.kind = InstructionKind::kCopyOnDevice;
    copy.device = Queue(to_place, QueueRole::kKernels, lane);
  }
  OrderBehind(copy.device, from);
  Touch(from);
  Touch(to);
  Fill(to, copy.device);
  for (const int slot : {from, to}) {
    if (copy.device < 0) continue;
    // The queue uses host memory until the host waits for it. On the device, a
    // copy queue is not ordered with kernels that use the memory earlier or
    // later.
    if (OnHost(plan_->slots_[slot].place)) {
      queues_[copy.device].pending.push_back(slot);
    } else if (plan_->queues_[copy.device].role != QueueRole::kAll) {
      Pin(slot);
    } else {
      Use(copy.device, slot);
    }
  }
  Emit(copy);
}

void PlanBuilder::Emit(Instruction instruction) {
  const bool waits = instruction.kind == InstructionKind::kWait ||
                     instruction.kind == InstructionKind::kQueueWait;
  if (instruction.device >= 0 && !waits) {
    queues_[instruction.device].busy = true;
    queues_[instruction.device].last = Now();
  }
  plan_->instructions_.push_back(instruction);
}

// Marks the slot's memory as used by the next instruction.
void PlanBuilder::Touch(int slot) {
  for (const int index : {slot, plan_->slots_[slot].alias_of}) {
    if (index < 0) continue;
    Slot& touched = plan_->slots_[index];
    if (touched.first < 0) touched.first = Now();
    touched.last = Now();
  }
}

void PlanBuilder::Pin(int slot) {
  const int root = plan_->slots_[slot].alias_of;
  pinned_.push_back(root < 0 ? slot : root);
}

// Notes that the next instruction fills a slot.
void PlanBuilder::Fill(int slot, int queue) {
  written_by_[slot] = queue;
  written_at_[slot] = Now();
}

// Returns false for the wait that a test omits.
bool PlanBuilder::KeepWait() {
  return waits_++ != plan_->options_.drop_wait_for_testing;
}

void PlanBuilder::EmitWait(int queue) {
  Finish(queue);
  if (!KeepWait()) return;
  Instruction wait;
  wait.kind = InstructionKind::kWait;
  wait.device = queue;
  Emit(wait);
}

// Notes that a queue is done, and so is everything that it waited for.
void PlanBuilder::Finish(int queue) {
  QueueState& state = queues_[queue];
  for (const int slot : state.pending) {
    Touch(slot);
  }
  for (const auto& [slot, at] : state.used) {
    Touch(slot);
  }
  for (int& writer : written_by_) {
    if (writer == queue) writer = -1;
  }
  state.pending.clear();
  state.used.clear();
  state.busy = false;
  for (size_t other = 0; other < queues_.size(); ++other) {
    if (queues_[other].busy && state.waited_for[other] > queues_[other].last) {
      Finish(static_cast<int>(other));
    }
  }
}

void PlanBuilder::EmitQueueWait(int queue, int other) {
  QueueState& state = queues_[queue];
  for (size_t i = 0; i < queues_.size(); ++i) {
    state.waited_for[i] =
        std::max(state.waited_for[i], queues_[other].waited_for[i]);
  }
  state.waited_for[other] = Now();
  ReleaseAll(plan_->queues_[queue].place);
  if (!KeepWait()) return;
  Instruction wait;
  wait.kind = InstructionKind::kQueueWait;
  wait.device = queue;
  wait.from = other;
  Emit(wait);
}

// Returns the slot that was filled: this one, or the one that it aliases.
int PlanBuilder::Filled(int slot) const {
  const int root = plan_->slots_[slot].alias_of;
  return written_by_[slot] >= 0 || root < 0 ? slot : root;
}

// Called before the host reads a slot: waits for the queue that fills it.
void PlanBuilder::WaitFor(int slot) {
  const int queue = written_by_[Filled(slot)];
  if (queue >= 0 && OnHost(plan_->slots_[slot].place)) EmitWait(queue);
}

// Called before `queue`, or the host, reads a slot.
void PlanBuilder::OrderBehind(int queue, int slot) {
  if (queue < 0) return WaitFor(slot);
  const int filled = Filled(slot);
  const int writer = written_by_[filled];
  if (writer < 0 || writer == queue) return;
  if (queues_[queue].waited_for[writer] > written_at_[filled]) return;
  // Between two devices, and for host memory, the host waits.
  if (OnHost(plan_->slots_[slot].place) ||
      plan_->queues_[queue].place != plan_->queues_[writer].place) {
    EmitWait(writer);
  } else {
    EmitQueueWait(queue, writer);
  }
}

// Called before an op with a queue of its own, which is not ordered with
// kernels that use the memory earlier.
void PlanBuilder::OrderAfterKernels(int queue) {
  if (queue < 0) return;
  const QueueSpec& spec = plan_->queues_[queue];
  for (size_t i = 0; i < queues_.size(); ++i) {
    const QueueSpec& other = plan_->queues_[i];
    if (other.place != spec.place || !other.runs_kernels()) continue;
    const bool waited_for = queues_[queue].waited_for[i] > queues_[i].last;
    if (queues_[i].busy && !waited_for) {
      EmitQueueWait(queue, static_cast<int>(i));
    }
  }
}

// Waiting for the last used queue often covers those that it waited for.
void PlanBuilder::FinishQueues() {
  while (true) {
    int last = -1;
    for (size_t i = 0; i < queues_.size(); ++i) {
      if (!queues_[i].busy) continue;
      if (last < 0 || queues_[i].last > queues_[last].last) {
        last = static_cast<int>(i);
      }
    }
    if (last < 0) break;
    EmitWait(last);
  }
  for (const int slot : pinned_) {
    plan_->slots_[slot].first = 0;
    plan_->slots_[slot].last = Now();
  }
}

void PlanBuilder::NoteFeedAliases() {
  for (size_t i = 0; i < plan_->slots_.size(); ++i) {
    const int root = plan_->slots_[i].alias_of;
    if (root >= 0 && plan_->slots_[root].kind == SlotKind::kFeed) {
      plan_->feed_aliases_.push_back(static_cast<int>(i));
    }
  }
}

void PlanBuilder::LayOutMemory(Plan* plan) {
  std::map<PlaceKey, std::vector<int>> by_place;
  for (size_t i = 0; i < plan->slots_.size(); ++i) {
    const Slot& slot = plan->slots_[i];
    const bool planned =
        slot.kind == SlotKind::kArena || slot.kind == SlotKind::kScratch;
    if (planned && slot.alias_of < 0 && slot.first >= 0) {
      by_place[slot.place].push_back(static_cast<int>(i));
    }
  }
  const bool isolate = plan->options_.isolate;
  const int end = static_cast<int>(plan->instructions_.size());
  for (const auto& [place, slots] : by_place) {
    std::vector<MemoryRequest> requests;
    for (const int slot : slots) {
      const Slot& planned = plan->slots_[slot];
      MemoryRequest& request = requests.emplace_back();
      request.bytes = planned.bytes;
      request.first = isolate ? 0 : planned.first;
      request.last = isolate ? end : planned.last;
    }
    const size_t bytes = PlanMemory(&requests);
    plan->arenas_.emplace_back(place, bytes);
    for (size_t i = 0; i < slots.size(); ++i) {
      plan->slots_[slots[i]].offset = requests[i].offset;
    }
  }
  const size_t most = plan->options_.plan_memory;
  const size_t shared = plan->SharedBytes();
  SLUICE_ENFORCE(most == 0 || shared <= most, ErrorCode::kResourceExhausted,
                 "plan.memory_limit",
                 "the values that ops hand to each other take {}, and the "
                 "executor's plan_memory is {}; allow it more, or run smaller "
                 "batches",
                 ShortBytes(static_cast<double>(shared)),
                 ShortBytes(static_cast<double>(most)));
}

}  // namespace sluice
