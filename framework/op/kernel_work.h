#pragma once

#include <functional>
#include <limits>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

struct MachineFigures;

// What one call of a kernel does, estimated from shapes and attributes: the
// prior that decides where nothing has been measured. Arithmetic and the bytes
// of the main loop overlap; `extra_bytes`, of passes before or after it
// (another layout, packed weights), come on top.
struct KernelWork {
  double flops = 0;        // in the kernel's dtype; multiply-adds count as two
  double efficiency = 1;   // of the core's arithmetic that it reaches, (0, 1]
  double bytes = 0;        // read and written
  double extra_bytes = 0;  // read and written by further passes
  // Elements that are moved one by one, whatever the width of vectors: with a
  // stride, or to another layout. Not hidden by anything else.
  double moves = 0;
  double library_calls = 0;
  double parallel_loops = 1;
  // Parts of equal work that threads share, or more than there will be threads.
  double max_threads = std::numeric_limits<double>::infinity();
};

// Estimates a kernel's work for an op that it takes; called while a plan is
// prepared.
using KernelEstimate = std::function<KernelWork(const KernelQuery& query)>;

// The work of a kernel without an estimate of its own: reads every input whose
// contents it needs and writes every output once, with one operation an output
// element.
SLUICE_API KernelWork DefaultKernelWork(const KernelQuery& query);

// Seconds of one call on the CPU, by a roofline with a start-up cost:
//   calls + max(flops / (cores flops efficiency), bytes / bandwidth)
//         + extra_bytes / bandwidth + moves / threads
// where a move takes a cycle of a usual processor, and threads do as many parts
// as the one that does the most.
// (Williams, Waterman and Patterson, "Roofline", CACM 52, 2009.)
SLUICE_API double PredictSeconds(const KernelWork& work,
                                 platform::DType dtype,
                                 const MachineFigures& machine,
                                 int num_threads);

// Figures of an accelerator that nobody has measured: enough to compare its
// kernels with each other, not with those of the CPU.
SLUICE_API MachineFigures DeviceFigures();

}  // namespace sluice::framework
