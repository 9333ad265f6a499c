#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sluice/framework/measure/race.h"
#include "sluice/framework/measure/record.h"
#include "sluice/framework/plan/resolver.h"
#include "sluice/framework/tuning/kernel_run.h"
#include "sluice/framework/tuning/tune.h"

namespace sluice::framework {

// Compares the kernels of one op with its reference, and races those that are
// right. Keeps references to both arguments. Used once, by one thread.
class SLUICE_API SignatureTuner {
 public:
  // `deadline` by TuningClock(); `options` for before_kernel.
  SignatureTuner(const IsolatedOp& op,
                 const Decision& decision,
                 int num_threads,
                 double deadline,
                 const TuneOptions& options = {});

  // The race takes at most `budget` seconds, or as long as five rounds take,
  // but no more than `most`, and ends at the deadline; no comparison begins
  // after it. Raises what the reference raises.
  TunedSignature Run(double budget, double most);
  TunedSignature Run(double budget) { return Run(budget, budget); }

  // Whether every kernel was compared and, if right, timed.
  bool complete() const { return complete_; }

 private:
  void MakeRuns();
  void CheckRuns();
  void Race(double budget, double most);
  bool IsTooSlow(size_t kernel) const;
  double SecondsOfRounds() const;
  // Whether `seconds` more end in time.
  bool MayGoOn(double seconds);

  const IsolatedOp& op_;
  const Decision& decision_;
  int num_threads_;
  double deadline_;
  std::function<void(const std::string&, const std::string&)> before_kernel_;
  bool complete_ = true;
  TunedSignature result_;
  std::vector<std::unique_ptr<KernelRun>> runs_;  // by result_.kernels
  std::vector<double> call_seconds_;  // by result_.kernels, of one call
};

// What is kept of it: a record for each kernel that was timed or is wrong.
SLUICE_API std::vector<Record> RecordsOf(const TunedSignature& tuned,
                                         int num_threads);

// Whether the times of a race are good enough to be kept. Other work on the
// machine may double a single sample, so it takes 5 rounds of each kernel that
// was not dropped as far too slow; or 3 in each of which one kernel was faster
// than all others by more than a quarter (RaceResult::over_winner). What is not
// kept decides nothing, and is measured again by the next call of Tune.
SLUICE_API bool MayKeepTimes(const RaceResult& race);

// Whether a kernel seems to be slow since it waited for CPUs that other
// programs had: most of its rounds were disturbed (IsDisturbed), and took more
// than 10 times as long as its estimate, in seconds, by contestant. Other
// disturbed rounds make all kernels slower alike.
SLUICE_API bool SeemSlow(const RaceResult& race,
                         std::span<const double> estimates);

// Seconds of a clock that never goes back.
SLUICE_API double TuningClock();

}  // namespace sluice::framework
