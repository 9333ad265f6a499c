#pragma once

#include <map>
#include <string>
#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/framework/values/scope.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/laboratory/bisect/plan_units.h"
#include "sluice/platform/export.h"

namespace sluice {

// All values of one run of plan a of a pair, on the host, so that ranges of
// either plan can run on them. It also holds the outputs of plan b's
// PlanPair::recomputed() ops for these values. Updates of persistables are not
// visible outside. A value type; keeps a reference to the pair.
class SLUICE_API GoldenValues {
 public:
  // Runs plan a. `scope` may be null if the program has no persistables. Raises
  // what the run raises.
  GoldenValues(const PlanPair& pair, const Feeds& feeds, const Scope* scope);

  // The value before unit `unit` runs, as [N, C, H, W]; nullptr if it does not
  // exist by then. For units().size(): the value after the run.
  const Tensor* Before(size_t unit, const std::string& var) const;

  // An output of an op of PlanPair::recomputed(); nullptr for other values.
  const Tensor* OfB(const std::string& var) const;

  // Before() for a value of plan b, which plan a may lack.
  const Tensor* BeforeInB(size_t unit, const std::string& var) const;

 private:
  void Recompute();
  void RecomputeOp(int op,
                   size_t unit,
                   const std::map<std::string, size_t>& written);

  const PlanPair& pair_;
  // By ProgramValue::var: versions of the value, by the unit that wrote them;
  // -1 for feeds and persistables.
  std::map<std::string, std::map<int, Tensor>> values_;
  std::map<std::string, Tensor> only_in_b_;
};

// Permutes the axes of an image from [N, C, H, W] to [N, H, W, C], or back.
// Tensors are on the host.
SLUICE_API Tensor ChannelsLast(const Tensor& image);
SLUICE_API Tensor ChannelsFirst(const Tensor& image);

}  // namespace sluice
