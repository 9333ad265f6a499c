#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sluice/framework/measure/race.h"
#include "sluice/framework/measure/record.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// Called before each op signature is measured, by the thread that tunes: how
// many are done, of how many, and the next one. False ends tuning with what was
// measured. What it raises ends tuning and is raised.
using TuneProgress =
    std::function<bool(int done, int total, const std::string& signature)>;

struct TuneOptions {
  // Seconds for everything: references, comparisons and races.
  double budget_seconds = 10;
  // Signatures that have records for all their kernels are measured again.
  bool again = false;
  TuneProgress progress{};
  // Called before a kernel is compared with the reference, with its name and
  // the signature: the kernel may end the process, or not come to an end.
  std::function<void(const std::string& kernel, const std::string& signature)>
      before_kernel{};
};

// One kernel for one signature.
struct TunedKernel {
  const KernelDef* kernel = nullptr;
  PlaceKey place;
  Timing timing;
  Verdict verdict = Verdict::kUnchecked;
  double error = 0;              // over its bound, see CompareWithReference
  std::string message;           // why it is wrong, or what it raised
  double predicted_seconds = 0;  // before it was measured
  double estimate = 0;           // what its own estimate says, in seconds
  Evidence evidence = Evidence::kEstimate;
};

// What was found out about one signature.
struct TunedSignature {
  int op_index = 0;
  int ops = 1;   // of the plan that have it
  int plan = 0;  // 0: the one before; others came of what was measured
  std::string op;
  std::string signature;
  std::vector<TunedKernel> kernels;
  int before = -1;  // in kernels: the one that the plan has
  int winner = -1;  // -1 where none could be measured
  bool tie = false;
  // No times are kept, since other programs had the CPUs.
  bool disturbed = false;
  // False where no kernel could be compared and so none was measured, since the
  // op has no plain one: ops that passes make.
  bool has_reference = true;
};

struct TuneResult {
  std::vector<TunedSignature> signatures;
  int known = 0;     // signatures that had records already
  int left_out = 0;  // not measured, or not all of their kernels
  // Of these, how many since other programs had the CPUs that kernels waited
  // for.
  int disturbed = 0;
  double seconds = 0;
  bool cancelled = false;  // by TuneOptions::progress or SetCancelRequested
};

// Whether some candidate of an op that has a plain kernel was neither measured
// for its signature nor found to be wrong.
SLUICE_API bool LacksRecords(const Plan& plan);

// Runs `plan` once, and after each op whose signature has no records yet,
// compares all of its kernels with the reference and then races them, on the
// values that the op has in that run. What is found out is added to
// RecordStore::Default(); plans that are prepared from then on use it. The run
// has its usual effect on `scope`. Raises InvalidArgument for a budget that is
// not above 0, and what running the plan raises.
SLUICE_API TuneResult Tune(const Plan& plan,
                           const Feeds& feeds,
                           Scope* scope,
                           const TuneOptions& options = {});

// Tunes the plan that `prepare` gives, and does so again while the records lead
// to a plan with signatures that have none. Runs end where nothing is left to
// measure; they write to `scope`. Raises as above, and what `prepare` raises.
// run/tune_program.h does it for a program.
SLUICE_API TuneResult
TunePlans(const std::function<std::shared_ptr<const Plan>()>& prepare,
          const Feeds& feeds,
          Scope* scope,
          const TuneOptions& options = {});

// For each signature which kernel ran before and which one runs now, and a
// table of all, the fastest first; then what one run of the first plan gains.
SLUICE_API std::string ToString(const TuneResult& result);

}  // namespace sluice::framework
