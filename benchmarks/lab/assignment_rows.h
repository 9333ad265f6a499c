#pragma once

#include "benchmarks/bench_util.h"

namespace sluice::bench {

// How long the assignment of kernels takes for graphs of 2,000 ops, how far
// from optimal it is at most, and what choosing each op's fastest kernel would
// cost more:
//   lab/assign_2000_ms           of the slowest family of graphs
//   lab/assign_gap               the largest, by the lower bounds
//   lab/assign_approximation     the largest distance to the optimum, with and
//                                without vertex elimination, of graphs of
//                                2,000 and of 200 ops with a known optimum
//   lab/assign_ms/FAMILY, lab/assign_gap/FAMILY, lab/assign_per_op/FAMILY
void AddAssignmentRows(const Options& options, Report& report);

}  // namespace sluice::bench
