#pragma once

#include <functional>
#include <limits>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

struct MachineFigures;

// The estimated work of one kernel call, from shapes and attributes: the prior
// that decides without measurements. Arithmetic and the bytes of the main loop
// overlap; `extra_bytes` of passes before or after it (another layout, packed
// weights) are added.
struct KernelWork {
  double flops = 0;        // in the kernel's dtype; multiply-adds count as two
  double efficiency = 1;   // share of the core's peak arithmetic, (0, 1]
  double bytes = 0;        // read and written
  double extra_bytes = 0;  // read and written by additional passes
  // Elements that are moved one by one, at any vector width: with a stride, or
  // to another layout. This time does not overlap other work.
  double moves = 0;
  double library_calls = 0;
  double parallel_loops = 1;
  // The number of equal pieces that threads share; infinity means enough.
  double max_threads = std::numeric_limits<double>::infinity();
};

// Estimates a kernel's work for an op that it supports; called while a plan is
// prepared.
using KernelEstimate = std::function<KernelWork(const KernelQuery& query)>;

// The default estimate: reads every input whose contents it needs and writes
// every output once, with one operation for each output element.
SLUICE_API KernelWork DefaultKernelWork(const KernelQuery& query);

// Returns the seconds of one call on the CPU, by a roofline with start-up
// costs:
//   calls + max(flops / (cores flops efficiency), bytes / bandwidth)
//         + extra_bytes / bandwidth + moves / threads
// A move takes a cycle of a usual processor. The thread with the most parts
// determines the time. (Williams, Waterman and Patterson, "Roofline", CACM 52,
// 2009.)
SLUICE_API double PredictSeconds(const KernelWork& work,
                                 platform::DType dtype,
                                 const MachineFigures& machine,
                                 int num_threads);

// Figures of an accelerator without measurements: enough to compare its kernels
// with each other, not with those of the CPU.
SLUICE_API MachineFigures DeviceFigures();

}  // namespace sluice::framework
