#pragma once

#include <memory>
#include <vector>

#include "sluice/framework/laboratory/kernel_run.h"
#include "sluice/framework/laboratory/tune.h"
#include "sluice/framework/measure/record.h"
#include "sluice/framework/plan/resolver.h"

namespace sluice::framework {

// Compares the kernels of one op with its reference, and races those that are
// right. Keeps references to both arguments. Used once, by one thread.
class SLUICE_API SignatureTuner {
 public:
  // `deadline` by TuningClock().
  SignatureTuner(const IsolatedOp& op,
                 const Decision& decision,
                 int num_threads,
                 double deadline);

  // The race takes at most `budget` seconds and ends at the deadline; no
  // comparison begins after it. Raises what the reference raises.
  TunedSignature Run(double budget);

  // Whether every kernel was compared and, if right, timed.
  bool complete() const { return complete_; }

 private:
  void MakeRuns();
  void CheckRuns();
  void Race(double budget);
  bool MayGoOn();

  const IsolatedOp& op_;
  const Decision& decision_;
  int num_threads_;
  double deadline_;
  bool complete_ = true;
  TunedSignature result_;
  std::vector<std::unique_ptr<KernelRun>> runs_;  // by result_.kernels
  std::vector<double> call_seconds_;              // by result_.kernels
};

// What is kept of it: a record for each kernel that was timed or is wrong.
SLUICE_API std::vector<Record> RecordsOf(const TunedSignature& tuned,
                                         int num_threads);

// Seconds of a clock that never goes back.
SLUICE_API double TuningClock();

}  // namespace sluice::framework
