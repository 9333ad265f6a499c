#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/plan/known_values.h"
#include "sluice/framework/plan/plan.h"

namespace sluice {

class Graph;
struct PreparedOp;

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
  // By op of the plan: whether it is one of the program's on values as the
  // program has them, so that its shapes are those of the values.
  std::vector<bool> as_written;
  // By variable; -1 for one with several values.
  std::unordered_map<std::string, int> values;

  // The rules of a graph that no pass has changed.
  SizeRules(const Graph& graph, const std::vector<FeedSpec>& feeds);
  // Sets what depends on the plan that was made of the graph. Returns false if
  // new values of attributes, or shapes that kernels read, would not reach it.
  bool Follow(const Plan& plan);

 private:
  bool MayBeSet(const Plan& plan, const Step& step) const;
  int Define(const std::string& var, const DDim& of_dims);
  void AddStep(const PreparedOp& op);
  void FindGivers();
};

}  // namespace sluice
