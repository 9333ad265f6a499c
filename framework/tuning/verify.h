#pragma once

#include <string>
#include <vector>

#include "sluice/framework/measure/record.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/tuning/kernel_run.h"
#include "sluice/framework/tuning/reference.h"
#include "sluice/platform/error.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// What was found out about the results of one kernel.
struct Verification {
  // kUnchecked: there is no reference, or memory or the device gave out.
  Verdict verdict = Verdict::kUnchecked;
  double error = 0;     // over its bound, see CompareWithReference
  std::string message;  // why it is wrong, or was not checked
  // What `message` is about: "values", "elements" (some are not written),
  // "bounds", "reruns", "NaN", "raises", "memory" or "device".
  std::string check;
  double seconds = 0;  // of one call; 0 where it raised
  // The calls were longer since other programs had the CPUs (CpuWaits).
  bool disturbed = false;
};

// Finds kernels that give wrong results for an op. A kernel is wrong when, for
// the op's own inputs, it differs from the reference, writes outside of its
// outputs, changes an input, leaves an element out, gives other bits when it
// runs again, or raises; and when, with NaNs put into an input, an element is a
// number that is NaN from the plain kernel. (NaNs go into the first input of
// floats only, into all where they have the output's shape: whether padding
// times a NaN in a filter is NaN is up to the kernel, and so is how far a NaN
// spreads.) Keeps a reference to the op. Used by one thread.
class SLUICE_API Verifier {
 public:
  // Computes the reference; raises what that raises.
  Verifier(const IsolatedOp& op, const Registry& registry);

  bool has_reference() const { return reference_.kernel != nullptr; }

  // `run` is of the same op; its outputs hold results afterwards, and inputs
  // what they held before. What a kernel raises becomes part of the result.
  // kUnchecked also where Ctrl-C came (SetCancelRequested).
  Verification Check(const KernelDef& kernel,
                     PlaceKey place,
                     int num_threads,
                     KernelRun* run) const;

 private:
  void PlantNans();
  std::string CheckOwnInputs(KernelRun* run, Verification* result) const;
  std::string LeftOut(KernelRun* run) const;
  std::string RestoreInputs() const;
  std::string CheckNans(const KernelDef& kernel,
                        PlaceKey place,
                        int num_threads) const;

  const IsolatedOp& op_;
  Reference reference_;
  std::vector<std::vector<uint8_t>> input_bytes_;  // before any kernel ran
  // The op with NaNs in its inputs, and what the plain kernel gives for it;
  // no outputs where there is nothing to plant or the plain kernel raised.
  IsolatedOp planted_;
  const KernelDef* plain_ = nullptr;
  std::vector<std::vector<double>> planted_outputs_;
};

// Whether an error of a kernel does not say that the kernel is wrong: memory or
// the device gave out.
SLUICE_API bool IsCircumstance(const platform::Error& error);

}  // namespace sluice::framework
