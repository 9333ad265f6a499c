#pragma once

#include <map>
#include <string>
#include <vector>

#include "sluice/framework/laboratory/bisect/plan_units.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/framework/values/scope.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// All values that plan a of a pair makes in one run, on the host, so that parts
// of either plan can be run on them; and what PlanPair::recomputed() of plan b
// give for these. What the run writes to persistables is not seen by anybody
// else. A value type; keeps a reference to the pair.
class SLUICE_API GoldenValues {
 public:
  // Runs plan a. `scope` may be null where the program has no persistables.
  // Raises what the run raises.
  GoldenValues(const PlanPair& pair, const Feeds& feeds, const Scope* scope);

  // What a value is before unit `unit` runs, as [N, C, H, W]; nullptr where it
  // has none by then. With units().size() it is what the run leaves.
  const Tensor* Before(size_t unit, const std::string& var) const;

  // What an op of PlanPair::recomputed() gives; nullptr for other values.
  const Tensor* OfB(const std::string& var) const;

  // As Before, for a value of plan b: plan a may not have it.
  const Tensor* BeforeInB(size_t unit, const std::string& var) const;

 private:
  void Recompute();
  void RecomputeOp(int op,
                   size_t unit,
                   const std::map<std::string, size_t>& written);

  const PlanPair& pair_;
  // By ProgramValue::var: the values by the unit after which they hold, -1 for
  // feeds and persistables.
  std::map<std::string, std::map<int, Tensor>> values_;
  std::map<std::string, Tensor> only_in_b_;
};

// The image with its axes in another order, [N, C, H, W] to [N, H, W, C] or
// back. On the host.
SLUICE_API Tensor ChannelsLast(const Tensor& image);
SLUICE_API Tensor ChannelsFirst(const Tensor& image);

}  // namespace sluice::framework
