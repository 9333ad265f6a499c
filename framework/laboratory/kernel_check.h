#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sluice/framework/laboratory/op_example.h"
#include "sluice/framework/op/registry.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

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

// What was found out about one kernel.
struct KernelReport {
  const KernelDef* kernel = nullptr;
  int examples = 0;  // that it was run with
  int refused = 0;   // that it does not take
  // The largest error over what rounding explains.
  double error = 0;
  std::vector<KernelMistake> mistakes;  // the first of each check
  // Why it could not be compared, where it could not: there is no other kernel
  // to compare with, or no example that it could be run with.
  std::string remark;
};

struct KernelCheckOptions {
  // Instead of the op's own where some are of the op; other sizes of them are
  // tried, too.
  std::vector<OpExample> examples;
  // Numbers of threads; small examples take the first two only.
  std::vector<int> threads = {1, 2, 4};
  // Other sizes that are made of the examples, at most.
  int most_others = 120;
  // A kernel that was wrong with that many examples is not run with more.
  int most_failing = 12;
  // Only this example, by its number, or -1.
  int only = -1;
  // Called before each step, in case that it does not end or ends the process.
  std::function<void(int example,
                     int threads,
                     const std::string& signature,
                     const std::string& step)>
      before;
};

// Runs kernels of one op and dtype with examples of the op, by one kernel at a
// time, and compares them with the op's reference (see Verifier). A kernel is
// at the first device of its kind. Beyond what Verifier finds, a kernel is
// wrong that
// - changes an input; an infinity in the inputs becomes a number, which the
//   plain kernel does not do;
// - gives other bits in one of several runs with several threads;
// - gives results for labels, indices or lengths that the plain kernel refuses.
// One that reads past the end of an input ends the process with SIGSEGV.
// Raises InvalidArgument for kernels of different ops or dtypes, and what
// loading examples raises; what kernels raise is a mistake of theirs.
SLUICE_API std::vector<KernelReport> CheckKernels(
    std::span<const KernelDef* const> kernels,
    const KernelCheckOptions& options = {});

// The examples that kernels of one op and dtype are run with, by number.
SLUICE_API std::vector<OpExample> ExamplesToCheck(
    const OpSchema& schema,
    platform::DType dtype,
    const KernelCheckOptions& options);

}  // namespace sluice::framework
