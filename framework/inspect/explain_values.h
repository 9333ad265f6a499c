#pragma once

#include <string_view>

#include "sluice/framework/inspect/json_writer.h"
#include "sluice/framework/inspect/profile.h"
#include "sluice/framework/op/op_desc.h"
#include "sluice/framework/plan/plan.h"

// The parts of ExplainJson that are about values, memory and times. For
// explain_json.cc only.
namespace sluice::framework {

// "forward", "backward", "optimize".
std::string_view PurposeName(OpPurpose purpose);

// Fields "feeds", with dtype, shape and place, and "fetches".
void WriteFeedsAndFetches(const Plan& plan, JsonWriter* json);

// Fields "inputs" and "outputs" of an op, with argument, variable, dtype, shape
// and slot, and "scratch_bytes" where it has any.
void WriteOpValues(const Plan& plan, const PlannedOp& op, JsonWriter* json);

// Field "instructions": kind, op, queue, and seconds where they were measured.
void WriteInstructions(const Plan& plan,
                       const RunProfile* profile,
                       JsonWriter* json);

// Field "slots": each tensor of a run, and where its memory is.
void WriteSlots(const Plan& plan, JsonWriter* json);

// A field with median, low and high.
void WriteTime(std::string_view key, const MedianTime& time, JsonWriter* json);

// Field "times": those of whole runs.
void WriteTimes(const RunProfile& profile, JsonWriter* json);

}  // namespace sluice::framework
