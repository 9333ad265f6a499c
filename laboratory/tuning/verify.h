#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sluice/framework/op/registry.h"
#include "sluice/laboratory/records/record_json.h"
#include "sluice/laboratory/tuning/kernel_run.h"
#include "sluice/laboratory/tuning/reference.h"
#include "sluice/platform/error.h"
#include "sluice/platform/export.h"

namespace sluice {

// Result of verifying one kernel.
struct Verification {
  // kUnchecked: there is no reference, or memory or the device failed.
  Verdict verdict = Verdict::kUnchecked;
  double error = 0;  // a multiple of its bound (CompareWithReference)
  // The check that failed: "values", "elements" (some are not written),
  // "bounds", "inputs" (changed), "reruns", "threads", "NaN", "infinity",
  // "raises", "memory", "device", or "refused" (the kernel does not accept the
  // op); "" if none did.
  std::string check = {};
  std::string message = {};  // why it is wrong, or was not checked
  int threads = 1;           // the number of threads of the last run
  double seconds = 0;        // of one call; 0 if it raised
  // Calls took longer because other programs used the CPUs (CpuWaits).
  bool disturbed = false;
};

struct VerifyOptions {
  std::vector<int> threads = {1};  // numbers of threads
  // Runs with several threads after the first run.
  int reruns = 1;
  // Whether to plant infinities, too.
  bool infinities = false;
  // Called before each step, because the step may hang or end the process.
  std::function<void(int threads, const std::string& step)> before = nullptr;
};

// Finds kernels that compute wrong results for an op. This is the only code
// that does: tuning, CheckKernels and the tests of Sluice's kernels use it. A
// kernel is wrong if, for the op's own inputs, it
// - differs from the reference, or does not write an element;
// - writes outside of its outputs or scratch memory, or changes an input;
// - computes other bits in a second run or, if its variant is "plain", with
//   another number of threads;
// - raises.
// It is also wrong if a special number in an input is lost: an element is a
// number where the plain kernel's is NaN or, with an infinity, not finite.
// (Special numbers go into the first floating-point input only, NaNs into all
// if they have the output's shape: whether padding times a NaN in a filter is
// NaN is up to the kernel, and so is how far a NaN spreads.) Keeps a reference
// to the op. Used by one thread.
class SLUICE_API Verifier {
 public:
  // Computes the reference, and raises what that raises.
  Verifier(const IsolatedOp& op, const Registry& registry);
  Verifier(const IsolatedOp& op, Reference reference, const Registry& registry);

  bool has_reference() const { return !reference_.name.empty(); }

  // Runs the kernel with each number of threads in turn, until one shows that
  // it is wrong. Exceptions of the kernel become part of the result. Also
  // returns kUnchecked after Ctrl-C (SetCancelRequested).
  Verification Check(const KernelDef& kernel,
                     PlaceKey place,
                     const VerifyOptions& options) const;

  // Checks one number of threads. Makes `run` (of the same op) contain results
  // in its outputs and the original values in its inputs.
  Verification Check(const KernelDef& kernel,
                     PlaceKey place,
                     int num_threads,
                     KernelRun* run) const;

 private:
  using Bytes = std::vector<std::vector<uint8_t>>;
  // The op with special numbers in an input, and the plain kernel's outputs for
  // it. No outputs if there is no input for them or the plain kernel raised.
  struct Planted {
    IsolatedOp op;
    std::string where = {};
    OutputValues outputs = {};
  };

  Verification CheckRun(const KernelDef& kernel,
                        PlaceKey place,
                        const VerifyOptions& options,
                        KernelRun* run,
                        Bytes* bits) const;
  void CheckOwnInputs(const VerifyOptions& options,
                      KernelRun* run,
                      Bytes* bits,
                      Verification* result) const;
  std::string LeftOut(KernelRun* run) const;
  std::string RestoreInputs(const KernelRun& run) const;
  Planted Plant(double number) const;
  std::string CheckPlanted(const KernelDef& kernel,
                           PlaceKey place,
                           int num_threads,
                           size_t number) const;

  const IsolatedOp& op_;
  Reference reference_;
  const KernelDef* plain_;
  Bytes input_bytes_;  // before any kernel ran
  mutable std::array<std::optional<Planted>, 3> planted_;  // by special number
};

// Whether an error does not prove the kernel wrong, because memory or the
// device failed.
SLUICE_API bool IsCircumstance(const Error& error);

// The verdict on a kernel that raised the exception that is being handled.
SLUICE_API Verification CaughtFailure();

}  // namespace sluice
