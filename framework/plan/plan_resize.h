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
  // sizes of its feeds, or on their values: ops on the CPU without hints,
  // blocks or hooks.
  static void Allow(Plan* plan, std::unique_ptr<SizeRules> rules);

  // The sizes for which kernels are chosen that plans for `feeds` take over:
  // sizes that `program` leaves open become the power of two below them.
  // Choices thus depend on no other sizes that came before. First each size for
  // itself, then with the differences of those between the same powers of two,
  // for feeds of n and n + 1 rows. Empty if `feeds` are of such sizes
  // themselves.
  static std::vector<std::vector<FeedSpec>> Typical(
      const Program& program, const std::vector<FeedSpec>& feeds);
  // For programs that do not go with what Typical returned, `typical`: the
  // first of these sizes but one, which is as in `feeds`, each in turn. Many
  // programs leave a size open that must be what it is, as the height of text.
  // Empty where under two or over four sizes differ.
  static std::vector<std::vector<FeedSpec>> TypicalButOne(
      const std::vector<std::vector<FeedSpec>>& typical,
      const std::vector<FeedSpec>& feeds);
  // Whether a plan that reads no values of feeds is for these.
  static bool IsFor(const Plan& plan, const std::vector<FeedSpec>& feeds);

  // Returns null if the plan cannot serve: `feeds` do not fit the program, a
  // kernel refuses the shapes, records of this machine speak against it, or a
  // pass relied on a size.
  static std::shared_ptr<const Plan> Resize(const Plan& base,
                                            const Program& program,
                                            std::vector<FeedSpec> feeds);

  // The choice of a plan that was made of one for other feeds, with its choice.
  static PlanChoice Choose(const Plan& plan,
                           const PlanChoice& base,
                           const std::vector<FeedSpec>& base_feeds);
};

}  // namespace sluice
