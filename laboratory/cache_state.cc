#include "sluice/laboratory/cache_state.h"

#include <algorithm>

namespace sluice {

namespace {

// Memory that an op touches: part of an arena, or a tensor's own.
struct Region {
  int slot = -1;  // of a tensor with its own memory, else -1
  PlaceKey place;
  size_t begin = 0;
  size_t end = 0;

  bool Overlaps(const Region& other) const {
    if (slot != other.slot || place != other.place) return false;
    return slot >= 0 || (begin < other.end && other.begin < end);
  }
};

Region RegionOf(const Plan& plan, int index) {
  const Slot& slot = plan.slots()[index];
  const int root = slot.alias_of < 0 ? index : slot.alias_of;
  const Slot& memory = plan.slots()[root];
  Region region;
  region.place = memory.place;
  const bool in_arena = memory.kind == SlotKind::kArena;
  if (!in_arena) region.slot = root;
  region.begin = memory.offset;
  region.end = memory.offset + slot.bytes;
  return region;
}

struct Touch {
  Region region;
  int64_t before = 0;  // bytes touched before it, since the start
};

class Walk {
 public:
  explicit Walk(const Plan& plan) : plan_(plan) {}

  // Walks the plan twice and returns the states of the second run.
  std::vector<OperandState> Run() {
    std::vector<OperandState> states;
    for (int run = 0; run < 2; ++run) {
      states.clear();
      for (const PlannedOp& op : plan_.ops()) {
        OperandState state;
        for (const int slot : op.inputs) {
          state.inputs.push_back(Distance(slot));
        }
        for (const int slot : op.outputs) {
          state.outputs.push_back(Distance(slot));
        }
        for (const auto* slots : {&op.inputs, &op.outputs}) {
          for (const int slot : *slots) {
            Note(slot);
          }
        }
        states.push_back(std::move(state));
      }
    }
    return states;
  }

 private:
  int64_t Distance(int slot) const {
    const Region region = RegionOf(plan_, slot);
    for (auto touch = touches_.rbegin(); touch != touches_.rend(); ++touch) {
      if (touch->region.Overlaps(region)) return touched_ - touch->before;
    }
    return touched_;
  }

  void Note(int slot) {
    if (plan_.slots()[slot].kind == SlotKind::kShape) return;
    touched_ += static_cast<int64_t>(plan_.slots()[slot].bytes);
    // Only the last access to a region counts.
    const Region region = RegionOf(plan_, slot);
    std::erase_if(touches_, [&](const Touch& touch) {
      return touch.region.slot == region.slot &&
             touch.region.place == region.place &&
             region.begin <= touch.region.begin &&
             touch.region.end <= region.end;
    });
    touches_.push_back({region, touched_});
  }

  const Plan& plan_;
  std::vector<Touch> touches_;
  int64_t touched_ = 0;
};

}  // namespace

std::vector<OperandState> OperandStates(const Plan& plan) {
  return Walk(plan).Run();
}

}  // namespace sluice
