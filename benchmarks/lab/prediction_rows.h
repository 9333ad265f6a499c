#pragma once

#include "benchmarks/bench_util.h"

namespace sluice::bench {

// The error of the predicted time of tuned networks (LabNetworks) on one
// thread:
//   lab/predicted_over_measured/NETWORK        |predicted / measured - 1| in %
//   lab/predicted_over_measured/NETWORK/warm   the same of a prediction from
//   the
//                                              records only
//   lab/predicted_us/NETWORK, lab/measured_us/NETWORK
void AddPredictionRows(const Options& options, Report& report);

}  // namespace sluice::bench
