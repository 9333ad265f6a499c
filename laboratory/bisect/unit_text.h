#pragma once

#include <string>
#include <vector>

#include "sluice/laboratory/bisect/plan_units.h"
#include "sluice/platform/export.h"

namespace sluice {

// Describes what computes one unit of two plans. Lists of more than three end
// in "and 12 more", but every kernel that the other plan lacks is named.
struct UnitText {
  std::string ops;        // of plan a ("57 relu, 58 pool2d"), else of b
  std::string kernels_a;  // "onednn/direct" (KernelName), "-" without ops
  std::string kernels_b;  // "4 calls: tanh_grad python/mine, plain"
};

// `a` and `b` are indices into Plan::ops() of either plan. If kernels have the
// same names, other differences follow: "plain (NHWC)".
SLUICE_API UnitText TextOf(const PlanPair& pair,
                           const std::vector<int>& a,
                           const std::vector<int>& b);

// "conv2d, relu, pool2d and 12 more".
SLUICE_API std::string Listed(const std::vector<std::string>& names);

}  // namespace sluice
