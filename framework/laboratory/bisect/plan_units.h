#pragma once

#include <map>
#include <string>
#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

// Two plans of one program, side by side: passes may have made other ops of it
// in one than in the other.
namespace sluice::framework {

// What a variable of a plan stands for in the program.
struct ProgramValue {
  std::string var;             // of the program, or one that a pass made
  bool channels_last = false;  // an image whose axes are [N, H, W, C] instead
                               // of [N, C, H, W]

  bool operator==(const ProgramValue& other) const = default;
};

// The smallest part of a program that two plans compute from the same values to
// the same values, each with ops and kernels of its own. Mostly one op of each;
// ops that a pass fused in one of them stand together. One side may be empty,
// e.g. where only the other plan changes a layout. What only one plan computes
// joins its op with the first reader alone: later readers, as gradients are,
// have the value of plan a's run, or what plan b's op gives for values of that
// run (PlanPair::recomputed), and stand in units of their own.
struct PlanUnit {
  std::vector<int> a;  // indices into Plan::ops(), in the order of the plan
  std::vector<int> b;
  bool same = false;  // the same ops with the same kernels
};

// Two plans of the same program for the same feeds and fetches. A value type;
// keeps references to the plans.
class SLUICE_API PlanPair {
 public:
  // Sorts the ops of both into units, in an order in which either plan could
  // run them.
  PlanPair(const Program& program, const Plan& a, const Plan& b);

  const Plan& a() const { return *a_; }
  const Plan& b() const { return *b_; }
  const std::vector<PlanUnit>& units() const { return units_; }
  // Ops of plan b, by index in the order of the plan, that give what plan a
  // does not compute and other units than theirs read.
  const std::vector<int>& recomputed() const { return recomputed_; }
  // What a variable of plan a, or of plan b, stands for.
  const ProgramValue& ValueInA(const std::string& var) const;
  const ProgramValue& ValueInB(const std::string& var) const;
  // Whether both plans have the value that `var` stands for in plan b.
  bool IsShared(const ProgramValue& value) const;

 private:
  friend class PlanAligner;
  const Plan* a_;
  const Plan* b_;
  std::vector<PlanUnit> units_;
  std::vector<int> recomputed_;
  std::map<std::string, ProgramValue> values_a_;
  std::map<std::string, ProgramValue> values_b_;
  std::map<std::string, bool> shared_;  // by ProgramValue::var
};

}  // namespace sluice::framework
