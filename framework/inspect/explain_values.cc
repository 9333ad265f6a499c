#include "sluice/framework/inspect/explain_values.h"

#include <string>
#include <utility>
#include <vector>

namespace sluice {

namespace {

std::string_view KindName(InstructionKind kind) {
  constexpr std::string_view kNames[] = {"compute", "compute", "copy", "copy",
                                         "copy",    "copy",    "wait", "wait"};
  return kNames[static_cast<int>(kind)];
}

std::string_view KindName(SlotKind kind) {
  constexpr std::string_view kNames[] = {"feed",  "persistable", "shadow",
                                         "arena", "fetch",       "late",
                                         "shape", "scratch"};
  return kNames[static_cast<int>(kind)];
}

void WriteShape(const DDim& dims, JsonWriter* json) {
  json->Field("shape", std::vector<int64_t>(dims.begin(), dims.end()));
}

void WriteArguments(
    const Plan& plan,
    std::string_view key,
    const std::vector<std::pair<std::string, ArgVars>>& arguments,
    const std::vector<int>& slots,
    JsonWriter* json) {
  json->Key(key);
  json->BeginArray();
  size_t flat = 0;
  for (const auto& [argument, vars] : arguments) {
    for (const std::string& var : vars) {
      if (flat >= slots.size()) break;
      const Slot& slot = plan.slots()[slots[flat]];
      json->BeginObject();
      json->Field("argument", argument);
      json->Field("var", var);
      json->Field("dtype", ToString(slot.dtype));
      WriteShape(slot.dims, json);
      json->Field("slot", slots[flat]);
      json->EndObject();
      ++flat;
    }
  }
  json->EndArray();
}

void WriteTiming(std::string_view key, const Timing& timing, JsonWriter* json) {
  json->Key(key);
  json->BeginObject();
  WriteSpread(timing, json);
  json->Field("rounds", timing.rounds);
  json->EndObject();
}

}  // namespace

std::string_view PurposeName(OpPurpose purpose) {
  constexpr std::string_view kNames[] = {"forward", "backward", "optimize"};
  return kNames[static_cast<int>(purpose)];
}

void WriteFeedsAndFetches(const Plan& plan, JsonWriter* json) {
  json->Key("feeds");
  json->BeginArray();
  for (const FeedSpec& feed : plan.feed_specs()) {
    json->BeginObject();
    json->Field("var", feed.name);
    json->Field("dtype", ToString(feed.dtype));
    WriteShape(feed.dims, json);
    json->Field("place", ToString(feed.place));
    json->EndObject();
  }
  json->EndArray();
  json->Field("fetches", plan.fetch_names());
}

void WriteOpValues(const Plan& plan, const PlannedOp& op, JsonWriter* json) {
  const OpDesc& desc = plan.op_descs()[op.op_index];
  WriteArguments(plan, "inputs", desc.inputs, op.inputs, json);
  WriteArguments(plan, "outputs", desc.outputs, op.outputs, json);
  if (op.scratch_bytes > 0) json->Field("scratch_bytes", op.scratch_bytes);
}

void WriteInstructions(const Plan& plan,
                       const RunProfile* profile,
                       JsonWriter* json) {
  json->Key("instructions");
  json->BeginArray();
  for (size_t i = 0; i < plan.instructions().size(); ++i) {
    const Instruction& instruction = plan.instructions()[i];
    json->BeginObject();
    json->Field("kind", KindName(instruction.kind));
    json->Field("op_index", instruction.op_index);
    json->Field("queue", instruction.device < 0
                             ? ToString(PlaceKey(CPUPlace()))
                             : ToString(plan.queues()[instruction.device]));
    if (profile != nullptr) {
      json->Field("seconds", profile->instructions[i].median);
    }
    json->EndObject();
  }
  json->EndArray();
}

void WriteSlots(const Plan& plan, JsonWriter* json) {
  json->Key("slots");
  json->BeginArray();
  for (const Slot& slot : plan.slots()) {
    json->BeginObject();
    json->Field("var", slot.var);
    json->Field("kind", KindName(slot.kind));
    json->Field("place", ToString(slot.place));
    json->Field("bytes", slot.bytes);
    if (slot.alias_of >= 0) json->Field("alias_of", slot.alias_of);
    json->Field("first", slot.first);
    json->Field("last", slot.last);
    if (slot.kind == SlotKind::kArena || slot.kind == SlotKind::kScratch) {
      json->Field("offset", slot.offset);
    }
    json->EndObject();
  }
  json->EndArray();
}

void WriteTime(std::string_view key, const MedianTime& time, JsonWriter* json) {
  json->Key(key);
  json->BeginObject();
  json->Field("median", time.median);
  json->Field("low", time.low);
  json->Field("high", time.high);
  json->EndObject();
}

void WriteTimes(const RunProfile& profile, JsonWriter* json) {
  json->Key("times");
  json->BeginObject();
  WriteTiming("run", profile.run, json);
  json->Field("profiled_runs", profile.rounds);
  json->Field("drifted", profile.drifted);
  json->EndObject();
}

}  // namespace sluice
