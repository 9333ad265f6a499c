#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/inspect/explain.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/framework/program/program.h"
#include "sluice/framework/values/scope.h"
#include "sluice/platform/export.h"

namespace sluice {

// A value to fetch: a Var or its name.
class FetchTarget {
 public:
  // NOLINTBEGIN(google-explicit-constructor)
  FetchTarget(const Var& var)
      : name_(var.name()), program_uid_(var.program_uid()) {}
  FetchTarget(std::string name) : name_(std::move(name)) {}
  FetchTarget(const char* name) : name_(name) {}
  // NOLINTEND(google-explicit-constructor)
  const std::string& name() const { return name_; }
  // The uid of the Var's program; 0 for a name.
  uint64_t program_uid() const { return program_uid_; }

 private:
  std::string name_;
  uint64_t program_uid_ = 0;
};
using Fetches = std::vector<FetchTarget>;

// Runs one plan, like Plan::Run: with checks, observed, or measured.
using RunPlan = std::function<std::vector<Tensor>(
    const Plan& plan, const Feeds& feeds, Scope* scope)>;

// Runs programs at a place. Prepares a plan for each signature of feeds (names,
// shapes, dtypes, places, in any order), fetches, thread count and active
// hints. Plans share the memory of values, but those that run at once. Keeps
// the plans used last: 16, and up to 1024 while all of them have no more
// than 64 MiB (PlanOptions::plan_memory). A plan is prepared
// again when it is used after CostGeneration() has risen, or after a kernel was
// replaced. Ops without a kernel at the place run on the CPU, which Explain
// reports. Thread-safe; programs may be destroyed after their runs.
class SLUICE_API Executor {
 public:
  // Raises NotFound or Unimplemented when there is no such device.
  explicit Executor(PlaceKey place = {}, PlanOptions options = {});
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Runs `program` and returns a host tensor for each fetch. Persistables are
  // those of `scope`, or of the executor's own scope. Every failure is a
  // Error and does not affect the next run.
  //
  // The first plan computes as much as can be prepared before anything has run.
  // For most programs that is all; otherwise it leaves a PlanRest. Then blocks
  // of block ops run, the next plan is prepared with the values known by then,
  // and so on. Values pass from one plan to the next on the host. Raises what
  // plans raise, with the op that runs a block and the number of the iteration,
  // and ResourceExhausted for a loop that exceeds its limit.
  //
  // With `run_plan`, that runs each plan, and RunHooks::BeforeFirstRun is left
  // out.
  std::vector<Tensor> Run(const Program& program,
                          const Feeds& feeds,
                          const Fetches& fetches,
                          Scope* scope = nullptr,
                          const RunPlan& run_plan = {});

  // Returns the plan that Run would use. Only the signature of `feeds` matters.
  std::shared_ptr<const Plan> Prepare(const Program& program,
                                      const Feeds& feeds,
                                      const Fetches& fetches);

  // Explains why each op of the plan prepared last for `program` runs where it
  // does (explain.h), and what another kernel of the slowest op would cost, by
  // preparing the program with a hint. For a program that ran in several
  // stretches, explains all their plans and those of its blocks. Raises
  // FailedPrecondition when there is no plan yet.
  std::string Explain(const Program& program,
                      const ExplainOptions& options = {}) const;
  std::shared_ptr<const Plan> LastPlan(const Program& program) const;
  // The tables of Explain as data: a list of what ExplainTableJson returns.
  std::string ExplainTables(const Program& program,
                            const ExplainOptions& options = {}) const;

  PlaceKey place() const { return place_; }
  Scope& scope() { return scope_; }
  // The number of plans in the cache that were asked for.
  size_t cached_plans() const;

 private:
  class Runner;  // the loop of Run
  struct Cache;
  // A plan and its label, "program, stretch 2" or "block 3, stretch 1".
  using NamedPlan = std::pair<std::string, std::shared_ptr<const Plan>>;

  // `handed_on`: the feeds are results of earlier plans (PlanRest).
  std::shared_ptr<const Plan> PrepareWith(const Program& program,
                                          const Feeds& feeds,
                                          const Fetches& fetches,
                                          bool handed_on);
  // Returns the plan after RunHooks::BeforeFirstRun, if it has not run yet.
  std::shared_ptr<const Plan> PrepareToRun(const Program& program,
                                           const Feeds& feeds,
                                           const Fetches& fetches,
                                           Scope* scope);
  std::shared_ptr<const Plan> Build(const Program& program,
                                    std::vector<FeedSpec> feeds,
                                    const Fetches& fetches) const;
  std::shared_ptr<const Plan> Base(const Program& program,
                                   const std::vector<FeedSpec>& feeds,
                                   const Fetches& fetches,
                                   uint64_t choice,
                                   bool* refused);
  std::shared_ptr<const Plan> Resized(const Program& program,
                                      const std::vector<FeedSpec>& feeds,
                                      const Fetches& fetches,
                                      uint64_t choice);
  std::shared_ptr<const Plan> Lookup(const Program& program,
                                     const Feeds& feeds,
                                     const Fetches& fetches,
                                     uint64_t choice,
                                     bool* has_run);
  bool NoteRun(const Plan* plan);
  bool WouldPrepare(const Plan& plan) const;
  std::vector<NamedPlan> LastPlans(const Program& program) const;
  // The plans that Explain explains, each with how it is shown.
  using Section = std::pair<std::shared_ptr<const Plan>, ExplainOptions>;
  std::vector<Section> SectionsOf(const Program& program,
                                  const ExplainOptions& options) const;

  PlaceKey place_;
  PlanOptions options_;
  Scope scope_;
  std::unique_ptr<Cache> cache_;
};

}  // namespace sluice
