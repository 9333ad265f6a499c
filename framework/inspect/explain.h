#pragma once

#include <string>
#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

struct RunProfile;

struct ExplainJsonOptions {
  // Adds "measured" to each op, "seconds" to each instruction, and "times".
  const RunProfile* profile = nullptr;
  // Ops of one signature share their candidates in "candidate_lists": the text
  // is much shorter where many ops are alike.
  bool by_signature = false;
};

// What a plan does and why. With a profile, each op's time stands beside it.

// Tables of decisions (op, place, dtype, layout, library, variant, reason,
// time), transfers with their bytes, parameters by place, and arenas; then each
// refused kernel with the reason, and remarks.
SLUICE_API std::string ExplainText(const Plan& plan,
                                   const RunProfile* profile = nullptr);
// {"place", "threads", "ops": [{"op", "index", "place", ..., "candidates"}],
//  "instructions", "slots", "transfers", "arenas", "notes"}; design/report.md
// says what each member means.
SLUICE_API std::string ExplainJson(const Plan& plan,
                                   const RunProfile* profile = nullptr);
SLUICE_API std::string ExplainJson(const Plan& plan,
                                   const ExplainJsonOptions& options);
// A graph for Graphviz: ops as boxes by place, transfers as dashed arrows.
SLUICE_API std::string ExplainDot(const Plan& plan);

// Kernels of a decision's op that were not looked at, because nobody had asked
// for their devices when the plan was prepared. Loads the devices' modules, but
// asks no device for anything; those that cannot be loaded have none.
SLUICE_API std::vector<const KernelDef*> KernelsElsewhere(
    const Decision& decision);

// The parts of ExplainText.
SLUICE_API std::string DecisionTable(const Plan& plan,
                                     const RunProfile* profile = nullptr);
SLUICE_API std::string TransferTable(const Plan& plan);
// Persistable values by the place where the plan reads and writes them. What
// is elsewhere when a run begins is copied there once, and kept until it
// changes.
SLUICE_API std::string ParameterTable(const Plan& plan);
// Memory in use and peak at each place of the process, besides the arenas.
SLUICE_API std::string MemoryTable();

}  // namespace sluice::framework
