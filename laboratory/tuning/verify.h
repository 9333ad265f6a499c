#pragma once

#include <string>
#include <vector>

#include "sluice/framework/op/registry.h"
#include "sluice/laboratory/records/record_json.h"
#include "sluice/laboratory/tuning/kernel_run.h"
#include "sluice/laboratory/tuning/reference.h"
#include "sluice/platform/error.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// Result of verifying one kernel.
struct Verification {
  // kUnchecked: there is no reference, or memory or the device failed.
  Verdict verdict = Verdict::kUnchecked;
  double error = 0;     // a multiple of its bound (CompareWithReference)
  std::string message;  // why it is wrong, or was not checked
  // The subject of `message`: "values", "elements" (some are not written),
  // "bounds", "reruns", "NaN", "raises", "memory" or "device".
  std::string check;
  double seconds = 0;  // of one call; 0 if it raised
  // Calls took longer because other programs used the CPUs (CpuWaits).
  bool disturbed = false;
};

// Finds kernels that compute wrong results for an op. A kernel is wrong if, for
// the op's own inputs, it differs from the reference, writes outside of its
// outputs, changes an input, does not write an element, computes other bits in
// a second run, or raises. It is also wrong if, with NaNs in an input, an
// element is a number where the plain kernel's is NaN. (NaNs go into the first
// floating-point input only, or into all if they have the output's shape:
// whether padding times a NaN in a filter is NaN is up to the kernel, and so is
// how far a NaN spreads.) Keeps a reference to the op. Used by one thread.
class SLUICE_API Verifier {
 public:
  // Computes the reference, and raises what that raises.
  Verifier(const IsolatedOp& op, const Registry& registry);

  bool has_reference() const { return reference_.kernel != nullptr; }

  // Makes `run` (of the same op) contain results in its outputs and the
  // original values in its inputs. Exceptions of the kernel become part of the
  // result. Also returns kUnchecked after Ctrl-C (SetCancelRequested).
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
  // The op with NaNs in its inputs, and the plain kernel's outputs for it. No
  // outputs if there is no input for NaNs or the plain kernel raised.
  IsolatedOp planted_;
  const KernelDef* plain_ = nullptr;
  std::vector<std::vector<double>> planted_outputs_;
};

// Whether an error does not prove the kernel wrong, because memory or the
// device failed.
SLUICE_API bool IsCircumstance(const platform::Error& error);

}  // namespace sluice::framework
