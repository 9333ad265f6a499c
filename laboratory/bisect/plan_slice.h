#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/framework/program/program.h"
#include "sluice/framework/run/executor.h"
#include "sluice/framework/values/scope.h"
#include "sluice/laboratory/bisect/golden_values.h"
#include "sluice/laboratory/bisect/plan_units.h"
#include "sluice/platform/export.h"

namespace sluice {

// The plan of a program under hints. Raises what KernelHintGuard and preparing
// raise.
SLUICE_API std::shared_ptr<const Plan> PrepareWith(const Program& program,
                                                   const Feeds& feeds,
                                                   const Fetches& fetches,
                                                   std::string_view hints,
                                                   PlaceKey place);

// A range of the units of a pair of plans as a program of its own, with the ops
// and kernels of one plan, on golden inputs. It is prepared like a whole
// program. Random ops are left out, since their outputs depend on their
// position; their outputs in the golden run are inputs. Keeps references to the
// pair and the values; for one thread at a time.
class SLUICE_API PlanSlice {
 public:
  enum class Side : unsigned char { kA, kB };

  // Units [begin, end). Raises what preparing a program raises.
  PlanSlice(const PlanPair& pair,
            Side side,
            size_t begin,
            size_t end,
            const GoldenValues& golden);
  PlanSlice(const PlanSlice&) = delete;
  PlanSlice& operator=(const PlanSlice&) = delete;

  // A slice without ops cannot run.
  bool empty() const { return program_.block().ops.empty(); }
  const Program& program() const { return program_; }
  const Feeds& feeds() const { return feeds_; }
  Scope& scope() { return scope_; }
  const std::vector<std::string>& fetches() const { return fetches_; }
  const std::shared_ptr<const Plan>& plan() const { return plan_; }
  // By index of the slice's ops: the op of the whole plan and its unit.
  const std::vector<int>& ops() const { return ops_; }
  const std::vector<size_t>& unit_of_op() const { return unit_of_op_; }

  // The program value of a variable of the slice. Raises std::out_of_range for
  // an unknown variable.
  const ProgramValue& ValueOf(const std::string& var) const;

 private:
  void AddOp(int op, size_t unit);
  std::string InputName(int op,
                        size_t flat,
                        bool shape_only,
                        const std::string& var);
  const Tensor* GoldenInput(const ProgramValue& value) const;
  std::string OutputName(const std::string& var);
  void AddFetches(size_t end);
  const Plan& whole() const;
  const ProgramValue& WholeValue(const std::string& var) const;

  const PlanPair& pair_;
  const GoldenValues& golden_;
  Side side_;
  Program program_;
  Feeds feeds_;
  Scope scope_;
  std::vector<std::string> fetches_;
  std::vector<int> ops_;
  std::vector<size_t> unit_of_op_;
  std::map<std::string, std::string> names_;        // from whole-program names
  std::map<std::string, std::string> whole_names_;  // the inverse of names_
  std::set<std::string> written_;                   // whole-program names
  std::map<std::string, size_t> drawn_;  // outputs of random ops: value, unit
  std::shared_ptr<const Plan> plan_;
};

}  // namespace sluice
