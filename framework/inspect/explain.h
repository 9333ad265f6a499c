#pragma once

#include <map>
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

struct ExplainOptions {
  // Everything about this op only: a number of the first column.
  int op = -1;
  // Every candidate of every op, every copy and remark.
  bool all = false;
  // Rows that are alike or small share a line; with `all`, only those alike.
  bool fold = true;
  // Names and numbers of layers, whose calls share a row, by outputs of ops.
  std::map<std::string, std::pair<std::string, int>> layers = {};
  int width = 100;      // lines are not longer, but for hints
  bool colour = false;  // ANSI colours
  std::string title = "program";
  // Whether the last line says how to see more. Not for a block's plan, whose
  // ops have numbers of their own.
  bool pointers = true;
  // How a hint is given, with {} for it.
  std::string hint_form = "KernelHintGuard guard(\"{}\");  //";
  // Lines about other kernels, which Executor::Explain adds.
  std::vector<std::string> advice = {};
};

// One screen about a plan: what is fed, a line for each kernel call in running
// order with its time, the next best kernel and the reason, and what moves. See
// design/plans.md. Raises NotFound for an op that the plan does not compute.
SLUICE_API std::string Explain(const Plan& plan,
                               const ExplainOptions& options = {});
// The same as data, and every call by itself: {"name", "head", "columns",
// "rows", "foot", "calls": [{"op", "name", "kernel", "library", "place",
// "dtype", "seconds", "evidence", "next", "next_seconds", "moved_bytes",
// "reason", "why", "put_in", "purpose"}]}. The name is options.title.
SLUICE_API std::string ExplainTableJson(const Plan& plan,
                                        const ExplainOptions& options = {});

// Explain with ExplainOptions::all, and no line broken.
SLUICE_API std::string ExplainText(const Plan& plan);
// Returns {"place", "threads", "ops": [{"op", "index", "place", ...,
// "candidates"}], "instructions", "slots", "transfers", "arenas", "notes"};
// docs/measurements.md describes each member.
SLUICE_API std::string ExplainJson(const Plan& plan,
                                   const ExplainJsonOptions& options = {});

// Returns kernels of a decision's op that were not considered, because their
// devices were unused when the plan was prepared. Loads the devices' modules,
// but uses no device; modules that cannot be loaded are skipped.
SLUICE_API std::vector<const KernelDef*> KernelsElsewhere(
    const Decision& decision);

// "not considered: the executor is at cpu (hint place=cuda allows it)".
SLUICE_API std::string WhyElsewhere(const Decision& decision,
                                    const KernelDef& kernel);

// Memory in use and peak at each place of the process, without the arenas.
SLUICE_API std::string MemoryTable();

}  // namespace sluice
