#pragma once

#include <span>
#include <string>
#include <vector>

#include "sluice/framework/op/kernel_work.h"
#include "sluice/laboratory/tuning/corpus.h"
#include "sluice/platform/export.h"

namespace sluice {

// A measured call of a kernel and its counted work: what costs are fitted to.
struct CostSample {
  std::string row;     // of KernelCosts
  double seconds = 0;  // measured, the median
  // By DerivedFigures and KernelCosts::Active(); PredictSeconds of both is the
  // estimate.
  WorkSeconds work;
};

// Measures all kernels on the CPU for each case, for `race_seconds` each or the
// time of three rounds. Leaves out kernels whose times other programs
// disturbed.
SLUICE_API std::vector<CostSample> MeasureCosts(
    std::span<const CorpusCase> corpus, int threads, double race_seconds);

}  // namespace sluice
