#pragma once

#include <functional>

#include "sluice/framework/costs/kernel_costs.h"
#include "sluice/framework/op/op_kernel.h"
#include "sluice/platform/export.h"

namespace sluice {

struct MachineFigures;

// Estimates a kernel's work for an op that it supports; called while a plan is
// prepared.
using KernelEstimate = std::function<KernelWork(const KernelQuery& query)>;

// The default estimate: reads every input whose contents it needs and writes
// every output once, with one operation for each output element.
SLUICE_API KernelWork DefaultKernelWork(const KernelQuery& query);

// The seconds of one call, apart by what they are spent on.
struct WorkSeconds {
  double fixed = 0;      // calling the kernel and starting its loops
  CountCosts counted{};  // of each count if its cost were 1
};

// Returns the seconds of one call on the CPU or with DeviceFigures. The thread
// with the most parts determines the time. `costs` says how many bytes are
// read, which decides the level of cache that holds them.
SLUICE_API WorkSeconds SecondsOf(const KernelWork& work,
                                 const CountCosts& costs,
                                 DType dtype,
                                 const MachineFigures& machine,
                                 int num_threads);

// Adds the seconds up, by a roofline with start-up costs: arithmetic and the
// bytes of the main loop overlap, everything else is added. (Williams, Waterman
// and Patterson, "Roofline", CACM 52, 2009.)
SLUICE_API double PredictSeconds(const WorkSeconds& seconds,
                                 const CountCosts& costs);

inline double PredictSeconds(const KernelWork& work,
                             const CountCosts& costs,
                             DType dtype,
                             const MachineFigures& machine,
                             int num_threads) {
  return PredictSeconds(SecondsOf(work, costs, dtype, machine, num_threads),
                        costs);
}

// Figures of an accelerator without measurements: enough to compare its kernels
// with each other, not with those of the CPU.
SLUICE_API MachineFigures DeviceFigures();

}  // namespace sluice
