#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/plan/known_values.h"
#include "sluice/framework/plan/plan.h"

namespace sluice {

class Graph;

// What a plan keeps so that plans for other sizes of its feeds can be made from
// it: the ops as the program has them, without what passes did. A plan whose
// passes relied on a size gives other shapes than these.
struct SizeRules {
  struct Step {
    int id = -1;  // of the op
    const OpSchema* schema = nullptr;
    OpDesc desc;
    DType dtype = DType::kFloat32;  // the kernel's
    std::vector<DType> input_dtypes;
    std::vector<DType> output_dtypes;
    std::vector<int> inputs;  // values, as the outputs
    std::vector<int> outputs;
    // Attributes that follow from sizes, and whether such an attribute follows
    // from what this op gives.
    std::vector<KnownOperand> operands;
    bool gives_operand = false;
  };
  std::vector<Step> steps;
  std::vector<DDim> dims;    // by value
  std::vector<int> feeds;    // values
  std::vector<int> of_slot;  // by slot of the plan: its value, or -1
  // By variable; -1 for one with several values.
  std::unordered_map<std::string, int> values;

  // The rules of a graph that no pass has changed.
  SizeRules(const Graph& graph, const std::vector<FeedSpec>& feeds);

 private:
  int Define(const std::string& var, const DDim& of_dims);
  void AddStep(const PreparedOp& op);
  void FindGivers();
};

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
