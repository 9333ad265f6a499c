#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sluice/framework/choice/resolver.h"
#include "sluice/laboratory/measure/race.h"
#include "sluice/laboratory/records/record_json.h"
#include "sluice/laboratory/tuning/kernel_run.h"
#include "sluice/laboratory/tuning/tune.h"

namespace sluice {

// Compares the kernels of one op with its reference, and races those that are
// right. Keeps references to both arguments. Used once, by one thread.
class SLUICE_API SignatureTuner {
 public:
  // `deadline` is on ClockSeconds(). `options` provides before_kernel.
  SignatureTuner(const IsolatedOp& op,
                 const Decision& decision,
                 int num_threads,
                 double deadline,
                 const TuneOptions& options = {});

  // The race takes at most `budget` seconds, or as long as five rounds take,
  // but at most `most`, and ends at the deadline. No comparison begins after
  // it. Raises what the reference raises.
  TunedSignature Run(double budget, double most);
  TunedSignature Run(double budget) { return Run(budget, budget); }

 private:
  void MakeRuns();
  void CheckRuns();
  void Race(double budget, double most);
  void StayAtPlace();
  bool IsTooSlow(size_t kernel) const;
  // Whether `seconds` more end before the deadline.
  bool HasTimeFor(double seconds);

  const IsolatedOp& op_;
  const Decision& decision_;
  int num_threads_;
  double deadline_;
  std::function<void(const KernelDef&, const std::string&)> before_kernel_;
  TunedSignature result_;
  std::vector<std::unique_ptr<KernelRun>> runs_;  // parallel to result_.kernels
  std::vector<double> call_seconds_;              // of one call, as runs_
};

// The records to keep: one for each kernel that was timed or is wrong.
SLUICE_API std::vector<Record> RecordsOf(const TunedSignature& tuned,
                                         int num_threads);

// Whether the times of a race are good enough to keep. Other work on the
// machine may double a single sample. So a race needs 5 rounds of each kernel
// that was not dropped as far too slow, or 3 rounds in each of which one kernel
// was faster than all others by more than a quarter (RaceResult::over_winner).
// Other times decide nothing, and the next call of Tune measures again.
SLUICE_API bool MayKeepTimes(const RaceResult& race);

// Whether a kernel seems slow because it waited for CPUs that other programs
// used: most of its rounds were disturbed (IsDisturbed), and took more than 10
// times its estimate. `estimates` are in seconds, by contestant. Other
// disturbances slow all kernels alike.
SLUICE_API bool WaitedForCpus(const RaceResult& race,
                              std::span<const double> estimates);

}  // namespace sluice
