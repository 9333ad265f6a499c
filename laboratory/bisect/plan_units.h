#pragma once

#include <map>
#include <string>
#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

// Pairs two plans of one program. Passes may have changed the ops of either.
namespace sluice {

// The program value that a variable of a plan holds.
struct ProgramValue {
  std::string var;             // of the program, or one that a pass made
  bool channels_last = false;  // an image whose axes are [N, H, W, C] instead
                               // of [N, C, H, W]

  bool operator==(const ProgramValue& other) const = default;
};

// The smallest part of a program that both plans compute from the same inputs
// to the same outputs, with ops and kernels of their own. Usually that is one
// op of each; ops that a pass fused in one plan are in one unit. One side may
// be empty, e.g. if only the other plan changes a layout. A value that only one
// plan computes joins its op with the first reader alone. Later readers, such
// as gradients, are in other units: they get the value of plan a's run, or the
// output of plan b's op for values of that run (PlanPair::recomputed).
struct PlanUnit {
  std::vector<int> a;  // indices into Plan::ops(), in the order of the plan
  std::vector<int> b;
  bool same = false;  // the same ops with the same kernels
};

// Two plans of the same program for the same feeds and fetches. A value type;
// keeps references to the plans.
class SLUICE_API PlanPair {
 public:
  // Sorts the ops of both plans into units, in an order in which either plan
  // could run them.
  PlanPair(const Program& program, const Plan& a, const Plan& b);

  const Plan& a() const { return *a_; }
  const Plan& b() const { return *b_; }
  const std::vector<PlanUnit>& units() const { return units_; }
  // Ops of plan b, by index in plan order, whose outputs plan a does not
  // compute and other units read.
  const std::vector<int>& recomputed() const { return recomputed_; }
  // The program value of a variable of plan a, or of plan b.
  const ProgramValue& ValueInA(const std::string& var) const;
  const ProgramValue& ValueInB(const std::string& var) const;
  // Whether both plans have this value of plan b.
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

}  // namespace sluice
