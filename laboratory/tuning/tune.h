#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sluice/framework/inspect/explain_table.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/laboratory/measure/race.h"
#include "sluice/laboratory/measure/shown_times.h"
#include "sluice/laboratory/records/record_json.h"
#include "sluice/platform/export.h"

namespace sluice {

// Called on the tuning thread before each op signature is measured, with the
// number done, the total, and the next one. Returning false ends tuning and
// keeps what was measured. An exception ends tuning and is rethrown.
using TuneProgress =
    std::function<bool(int done, int total, const std::string& signature)>;

struct TuneOptions {
  // Seconds for everything: references, comparisons and races.
  double budget_seconds = 10;
  // Measure signatures again even if all their kernels have records.
  bool again = false;
  TuneProgress progress{};
  // Called before a kernel is compared with the reference, with the signature:
  // the kernel may end the process, or hang.
  std::function<void(const KernelDef& kernel, const std::string& signature)>
      before_kernel{};
};

// One kernel for one signature.
struct TunedKernel {
  const KernelDef* kernel = nullptr;
  PlaceKey place;
  Timing timing;
  Verdict verdict = Verdict::kUnchecked;
  double error = 0;              // multiple of its bound (CompareWithReference)
  std::string message;           // why it is wrong, or its error
  double predicted_seconds = 0;  // before it was measured
  double estimate = 0;           // its own estimate, in seconds
  Evidence evidence = Evidence::kEstimate;
};

// Result of tuning one signature.
struct TunedSignature {
  int op_index = 0;
  int ops = 1;   // number of ops of the plan that have it
  int plan = 0;  // 0: the first; later ones follow from records
  std::string op;
  std::string name;  // "mul+add+relu", as in Explain
  std::string signature;
  std::vector<TunedKernel> kernels;
  int before = -1;  // in kernels: the plan's choice
  int winner = -1;  // -1 if none could be measured
  bool tie = false;
  // Every kernel was compared and, if right, timed.
  bool complete = true;
  // No times are kept, because other programs used the CPUs.
  bool disturbed = false;
  // False if no kernel could be compared, and so none was measured, because the
  // op has no plain one. Passes make such ops.
  bool has_reference = true;
};

struct TuneResult {
  std::vector<TunedSignature> signatures;
  int known = 0;     // signatures that had records before
  int left_out = 0;  // not measured, or not all kernels
  // The number of left_out signatures whose kernels waited for CPUs that other
  // programs used.
  int disturbed = 0;
  // A run of the plan before and after, in turns; no rounds if its kernels are
  // the same.
  ShownTimes run_before{};
  ShownTimes run_after{};
  // The plan is slower after than before: the times are not kept.
  bool withdrawn = false;
  double seconds = 0;
  bool cancelled = false;  // by TuneOptions::progress or SetCancelRequested
};

// Whether some candidate of an op that has a plain kernel was neither measured
// for its signature nor found wrong.
SLUICE_API bool LacksRecords(const Plan& plan);

// Runs `plan` once. Before each op whose signature has no records yet, compares
// all its kernels with the reference and then races them, on the values of that
// run. Adds results to RecordStore::Default(), which plans prepared from then
// on use. The run has its usual effect on `scope`. Raises InvalidArgument for a
// budget that is not above 0, and what running the plan raises.
SLUICE_API TuneResult Tune(const Plan& plan,
                           const Feeds& feeds,
                           Scope* scope,
                           const TuneOptions& options = {});

// Tunes the plan that `prepare` returns, and repeats while the records lead to
// a plan with unmeasured signatures. Fused ops have to win against their parts,
// which are those of the plan that `prepare_apart` returns; null for none. At
// last the first and the last plan take turns; if the last one is slower, what
// was measured is withdrawn. A run ends when nothing is left to measure; runs
// write to `scope`. Raises like Tune, and what `prepare` raises.
// tune_program.h does it for a program.
using PreparePlan = std::function<std::shared_ptr<const Plan>()>;
SLUICE_API TuneResult TunePlans(const PreparePlan& prepare,
                                const PreparePlan& prepare_apart,
                                const Feeds& feeds,
                                Scope* scope,
                                const TuneOptions& options = {});

// The gain for one run of the first plan, the signatures that get another
// kernel, and wrong kernels; or for each signature all kernels, the fastest
// first.
SLUICE_API std::string ToString(const TuneResult& result, bool all = false);
// What is printed unless it is all.
SLUICE_API ExplainTable MakeTable(const TuneResult& result);

}  // namespace sluice
