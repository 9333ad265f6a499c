#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/framework/program/program.h"
#include "sluice/framework/values/scope.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// What to fetch: a Var or the name of one.
class FetchTarget {
 public:
  // NOLINTBEGIN(google-explicit-constructor)
  FetchTarget(const Var& var)
      : name_(var.name()), program_(var.valid() ? &var.program() : nullptr) {}
  FetchTarget(std::string name) : name_(std::move(name)) {}
  FetchTarget(const char* name) : name_(name) {}
  // NOLINTEND(google-explicit-constructor)
  const std::string& name() const { return name_; }
  // That of the Var; null for a name.
  const Program* program() const { return program_; }

 private:
  std::string name_;
  const Program* program_ = nullptr;
};
using Fetches = std::vector<FetchTarget>;

// A plan, and what it is of a program that runs in several stretches.
using NamedPlan = std::pair<std::string, std::shared_ptr<const Plan>>;

// Runs programs at a place. Prepares a plan for each signature of feeds (names,
// shapes, dtypes, places, in any order), fetches, thread count and active
// hints, and keeps those used last: 16, and up to 1024 as long as all of them
// take no more than 512 MiB (see Plan::KeptBytes). Prepares a plan again
// when it is next used after the process got more records. Kernels missing at
// the place fall to the CPU, and Explain says so. Thread-safe; programs may be
// gone once they have run.
class SLUICE_API Executor {
 public:
  // Raises NotFound or Unimplemented when there is no such device.
  explicit Executor(PlaceKey place = {}, PlanOptions options = {});
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Runs `program` and returns a host tensor for each fetch. Persistables are
  // those of `scope`, or of the executor's own scope. Every failure is a
  // platform::Error; the next run is not affected by it.
  std::vector<Tensor> Run(const Program& program,
                          const Feeds& feeds,
                          const Fetches& fetches,
                          Scope* scope = nullptr);

  // The plan that Run would use. Only the signature of `feeds` matters.
  std::shared_ptr<const Plan> Prepare(const Program& program,
                                      const Feeds& feeds,
                                      const Fetches& fetches);

  // The same, tuned with the values of `feeds` and `scope` where it has not
  // been run yet and SLUICE_TUNE is "measure" (plan/tuning_mode.h): what Run
  // calls first.
  std::shared_ptr<const Plan> PrepareToRun(const Program& program,
                                           const Feeds& feeds,
                                           const Fetches& fetches,
                                           Scope* scope = nullptr);

  // Why each op of the plan prepared last for `program` runs where it does, as
  // text; for a program that ran in several stretches, of all their plans and
  // those of its blocks. Raises FailedPrecondition when there is no plan yet.
  // explain.h has JSON and DOT, from a plan.
  std::string Explain(const Program& program) const;
  std::shared_ptr<const Plan> LastPlan(const Program& program) const;

  PlaceKey place() const { return place_; }
  Scope& scope() { return scope_; }
  // Plans in the cache.
  size_t cached_plans() const;

  // The plan that would follow, in a program that runs in several stretches:
  // `feeds` are what the plans before it computed (PlanRest).
  std::shared_ptr<const Plan> PrepareStretch(const Program& program,
                                             const Feeds& feeds,
                                             const Fetches& fetches);
  // For Explain: the plans of a run of `program` in several stretches.
  void NoteStretches(const Program& program, std::vector<NamedPlan> plans);

 private:
  struct Cache;
  std::shared_ptr<const Plan> PrepareWith(const Program& program,
                                          const Feeds& feeds,
                                          const Fetches& fetches,
                                          bool handed_on);
  std::shared_ptr<const Plan> Lookup(const Program& program,
                                     const Feeds& feeds,
                                     const Fetches& fetches,
                                     uint64_t records,
                                     bool* has_run);
  bool NoteRun(const Plan* plan);

  PlaceKey place_;
  PlanOptions options_;
  Scope scope_;
  std::unique_ptr<Cache> cache_;
};

}  // namespace sluice::framework
