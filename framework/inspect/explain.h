#pragma once

#include <string>
#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/platform/export.h"

namespace sluice {

struct RunProfile;

struct ExplainJsonOptions {
  // Adds "measured" to each op, "seconds" to each instruction, and "times".
  const RunProfile* profile = nullptr;
  // Ops of one signature share their candidates in "candidate_lists". The text
  // is much shorter if many ops are alike.
  bool by_signature = false;
};

// Describes a plan and its decisions; with a profile, also each op's time.

// Prints tables of decisions (op, place, dtype, layout, library, variant,
// reason, time), transfers with their bytes, parameters by place, and arenas;
// then each refused kernel with the reason, and remarks.
SLUICE_API std::string ExplainText(const Plan& plan,
                                   const RunProfile* profile = nullptr);
// Returns {"place", "threads", "ops": [{"op", "index", "place", ...,
// "candidates"}], "instructions", "slots", "transfers", "arenas", "notes"};
// docs/laboratory.md describes each member.
SLUICE_API std::string ExplainJson(const Plan& plan,
                                   const RunProfile* profile = nullptr);
SLUICE_API std::string ExplainJson(const Plan& plan,
                                   const ExplainJsonOptions& options);
// A graph for Graphviz: ops as boxes by place, transfers as dashed arrows.
SLUICE_API std::string ExplainDot(const Plan& plan);

// Returns kernels of a decision's op that were not considered, because their
// devices were unused when the plan was prepared. Loads the devices' modules,
// but uses no device; modules that cannot be loaded are skipped.
SLUICE_API std::vector<const KernelDef*> KernelsElsewhere(
    const Decision& decision);

// These are the sections of ExplainText.
SLUICE_API std::string DecisionTable(const Plan& plan,
                                     const RunProfile* profile = nullptr);
SLUICE_API std::string TransferTable(const Plan& plan);
// Persistable values by the place where the plan reads and writes them. A value
// that is elsewhere when a run begins is copied there once, and kept until it
// changes.
SLUICE_API std::string ParameterTable(const Plan& plan);
// Memory in use and peak at each place of the process, without the arenas.
SLUICE_API std::string MemoryTable();

}  // namespace sluice
