#pragma once

#include <memory>
#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/framework/plan/size_rules.h"

namespace sluice {

// Makes plans for other sizes of the same feeds. The ops after passes, their
// kernels, their order and the lifetimes of values are those of the first plan;
// shapes, attributes that follow from them, memory, and what kernels prepare
// are new.
class PlanResizer {
 public:
  // Lets other plans be made of a finished plan, if nothing else depends on the
  // sizes of its feeds: ops on the CPU without hints, blocks or hooks.
  static void Allow(Plan* plan, std::unique_ptr<SizeRules> rules);

  // Whether a plan for feeds of `from` may serve for `to`: the same feeds, with
  // each size between the same powers of two. 1 and 0 are sizes of their own.
  static bool IsNear(const std::vector<FeedSpec>& from,
                     const std::vector<FeedSpec>& to);
  // A number that is equal for feeds that are near each other.
  static size_t BucketOf(const std::vector<FeedSpec>& feeds);

  // Returns null if the plan cannot serve: a kernel refuses the shapes, records
  // of this machine speak against it, or a pass relied on a size. `feeds` are
  // near those of `base`.
  static std::shared_ptr<const Plan> Resize(const Plan& base,
                                            std::vector<FeedSpec> feeds);

  // The choice of a plan that was made of one for other feeds, with its choice.
  static PlanChoice Choose(const Plan& plan,
                           const PlanChoice& base,
                           const std::vector<FeedSpec>& base_feeds);
};

}  // namespace sluice
