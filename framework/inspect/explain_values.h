#pragma once

#include <string_view>

#include "sluice/framework/inspect/json_writer.h"
#include "sluice/framework/inspect/run_profile.h"
#include "sluice/framework/op/op_desc.h"
#include "sluice/framework/plan/plan.h"

// The sections of ExplainJson about values, memory and times. For
// explain_json.cc only.
namespace sluice {

// Returns "forward", "backward" or "optimize".
std::string_view PurposeName(OpPurpose purpose);

// Writes fields "feeds", with dtype, shape and place, and "fetches".
void WriteFeedsAndFetches(const Plan& plan, JsonWriter* json);

// Writes fields "inputs" and "outputs" of an op, with argument, variable,
// dtype, shape and slot, and "scratch_bytes" if it is not 0.
void WriteOpValues(const Plan& plan, const PlannedOp& op, JsonWriter* json);

// Writes field "instructions": kind, op, queue, and measured seconds if any.
void WriteInstructions(const Plan& plan,
                       const RunProfile* profile,
                       JsonWriter* json);

// Writes field "slots": each tensor of a run and its memory.
void WriteSlots(const Plan& plan, JsonWriter* json);

// Writes a field with median, low and high.
void WriteTime(std::string_view key, const MedianTime& time, JsonWriter* json);

// Writes the fields of a Timing or a Record.
template <typename Times>
void WriteSpread(const Times& times, JsonWriter* json) {
  json->Field("best", times.best);
  json->Field("median", times.median);
  json->Field("low", times.low);
  json->Field("high", times.high);
  json->Field("spread", times.spread);
}

// Writes field "times": those of whole runs.
void WriteTimes(const RunProfile& profile, JsonWriter* json);

}  // namespace sluice
