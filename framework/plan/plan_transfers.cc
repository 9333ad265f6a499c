// The half of PlanBuilder that knows where values are: slots, copies between
// places, waits, and the memory behind it all.
#include <algorithm>
#include <map>

#include "sluice/framework/plan/memory_planner.h"
#include "sluice/framework/plan/plan_builder.h"
#include "sluice/platform/error.h"

namespace sluice::framework {

using platform::CPUPlace;
using platform::PlaceKind;

namespace {
bool OnHost(PlaceKey place) {
  return place.kind == PlaceKind::kCPU;
}
}  // namespace

int PlanBuilder::AddSlot(Slot slot) {
  const bool fits = !__builtin_mul_overflow(
      static_cast<size_t>(slot.dims.numel()), SizeOf(slot.dtype), &slot.bytes);
  SLUICE_ENFORCE(fits, ErrorCode::kOutOfRange, "plan.bytes_overflow",
                 "{} ({} {}): its bytes do not fit into 64 bits", slot.var,
                 slot.dtype, slot.dims);
  plan_->slots_.push_back(std::move(slot));
  written_by_.push_back(-1);
  return static_cast<int>(plan_->slots_.size()) - 1;
}

int PlanBuilder::DeviceIndex(PlaceKey place) {
  if (OnHost(place)) return -1;
  auto& devices = plan_->devices_;
  const auto found = std::find(devices.begin(), devices.end(), place);
  if (found != devices.end()) {
    return static_cast<int>(found - devices.begin());
  }
  devices.push_back(place);
  pending_.emplace_back();
  busy_.push_back(false);
  return static_cast<int>(devices.size()) - 1;
}

// The slot of `var` at `place`; copies it there unless that was done before.
int PlanBuilder::SlotAt(const std::string& var, PlaceKey place, int op_index) {
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
    // From one device to another the way leads over the host.
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
  if (OnHost(from_place) && OnHost(to_place)) {
    copy.kind = InstructionKind::kCopyOnHost;
    WaitFor(from);
  } else if (OnHost(to_place)) {
    copy.kind = InstructionKind::kCopyToHost;
    copy.device = DeviceIndex(from_place);
    written_by_[to] = copy.device;
  } else if (OnHost(from_place)) {
    copy.kind = InstructionKind::kCopyFromHost;
    copy.device = DeviceIndex(to_place);
    // Filled by another device's queue: that one must have finished.
    if (written_by_[from] != copy.device) WaitFor(from);
    written_by_[to] = copy.device;
  } else {
    copy.kind = InstructionKind::kCopyOnDevice;
    copy.device = DeviceIndex(to_place);
    written_by_[to] = copy.device;
  }
  Touch(from);
  Touch(to);
  // The queue uses the host's memory until somebody waits for it.
  for (const int slot : {from, to}) {
    if (copy.device >= 0 && OnHost(plan_->slots_[slot].place)) {
      pending_[copy.device].push_back(slot);
    }
  }
  Emit(copy);
}

void PlanBuilder::Emit(Instruction instruction) {
  if (instruction.device >= 0 && instruction.kind != InstructionKind::kWait) {
    busy_[instruction.device] = true;
  }
  plan_->instructions_.push_back(instruction);
}

// The memory behind a slot is in use at the next instruction.
void PlanBuilder::Touch(int slot) {
  for (const int index : {slot, plan_->slots_[slot].alias_of}) {
    if (index < 0) continue;
    Slot& touched = plan_->slots_[index];
    if (touched.first < 0) touched.first = Now();
    touched.last = Now();
  }
}

void PlanBuilder::EmitWait(int device) {
  for (const int slot : pending_[device]) {
    Touch(slot);
    if (written_by_[slot] == device) written_by_[slot] = -1;
  }
  pending_[device].clear();
  busy_[device] = false;
  if (waits_++ == plan_->options_.drop_wait_for_testing) return;
  Instruction wait;
  wait.kind = InstructionKind::kWait;
  wait.device = device;
  Emit(wait);
}

// Before the host reads a slot: the queue that fills it must be empty.
void PlanBuilder::WaitFor(int slot) {
  const int root = plan_->slots_[slot].alias_of;
  const int device = written_by_[root < 0 ? slot : root];
  if (device >= 0 && OnHost(plan_->slots_[slot].place)) EmitWait(device);
}

void PlanBuilder::FinishQueues() {
  for (size_t device = 0; device < plan_->devices_.size(); ++device) {
    if (busy_[device]) EmitWait(static_cast<int>(device));
  }
}

void PlanBuilder::LayOutMemory() {
  std::map<PlaceKey, std::vector<int>> by_place;
  for (size_t i = 0; i < plan_->slots_.size(); ++i) {
    Slot& slot = plan_->slots_[i];
    const bool planned =
        slot.kind == SlotKind::kArena || slot.kind == SlotKind::kScratch;
    if (planned && slot.alias_of < 0 && slot.first >= 0) {
      by_place[slot.place].push_back(static_cast<int>(i));
    }
    if (slot.alias_of >= 0 &&
        plan_->slots_[slot.alias_of].kind == SlotKind::kFeed) {
      plan_->feed_aliases_.push_back(static_cast<int>(i));
    }
  }
  for (const auto& [place, slots] : by_place) {
    std::vector<MemoryRequest> requests;
    for (const int slot : slots) {
      const Slot& planned = plan_->slots_[slot];
      MemoryRequest& request = requests.emplace_back();
      request.bytes = planned.bytes;
      request.first = plan_->options_.isolate ? 0 : planned.first;
      request.last = plan_->options_.isolate ? Now() : planned.last;
    }
    const size_t bytes = PlanMemory(&requests);
    plan_->arenas_.emplace_back(place, bytes);
    for (size_t i = 0; i < slots.size(); ++i) {
      plan_->slots_[slots[i]].offset = requests[i].offset;
    }
  }
}

}  // namespace sluice::framework
