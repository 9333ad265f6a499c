#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sluice/framework/op/registry.h"
#include "sluice/laboratory/op_example.h"
#include "sluice/platform/export.h"

namespace sluice {

// One mistake of a kernel.
struct KernelMistake {
  // "values", "elements" (some are not written), "bounds", "inputs" (changed),
  // "reruns", "NaN", "infinity", "bad input", "raises", "memory", "device".
  std::string check;
  int example = 0;  // its number, see KernelCheckOptions::only
  int threads = 1;
  std::string signature;  // "X float32 [2, 3], axis = 1"
  std::string message;    // "Out[1, 2] is 3, relu/plain (...) gives 2"
};

// Result of checking one kernel.
struct KernelReport {
  const KernelDef* kernel = nullptr;
  int examples = 0;  // the kernel ran with
  int refused = 0;   // the kernel rejected
  // The largest error as a multiple of its bound.
  double error = 0;
  std::vector<KernelMistake> mistakes;  // the first of each check
  // Why the kernel could not be compared, if so: there is no other kernel to
  // compare with, or no example that it accepts.
  std::string remark;
};

struct KernelCheckOptions {
  // Used instead of the op's own examples if any is of this op; other sizes of
  // them are tried, too.
  std::vector<OpExample> examples = {};
  // Numbers of threads; small examples take the first two only.
  std::vector<int> threads = {1, 2, 4};
  // The largest number of other sizes that are derived from the examples.
  int most_others = 120;
  // A kernel that failed this many examples is not run with more.
  int most_failing = 12;
  // Only this example, by its number, or -1.
  int only = -1;
  // Called before each step, because the step may hang or end the process.
  std::function<void(int example,
                     int threads,
                     const std::string& signature,
                     const std::string& step)>
      before = {};
};

// Runs the kernels of one op and dtype, one at a time, with examples of the op,
// and compares them with the op's reference (see Verifier). Kernels run on the
// first device of their kind. In addition to Verifier's checks, a kernel is
// wrong if
// - it changes an input;
// - it turns an infinity in the inputs into a number, unlike the plain kernel;
// - its bits differ between runs with several threads;
// - it returns results for labels, indices or lengths that the plain kernel
//   rejects.
// Reading past the end of an input ends the process with SIGSEGV. Raises
// InvalidArgument for kernels of different ops or dtypes, and what loading
// examples raises. An exception of a kernel counts as its mistake.
SLUICE_API std::vector<KernelReport> CheckKernels(
    std::span<const KernelDef* const> kernels,
    const KernelCheckOptions& options = {});

// The examples that kernels of one op and dtype run with, by number.
SLUICE_API std::vector<OpExample> ExamplesToCheck(
    const OpSchema& schema, DType dtype, const KernelCheckOptions& options);

}  // namespace sluice
