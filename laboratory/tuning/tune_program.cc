#include "sluice/laboratory/tuning/tune_program.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/hints/kernel_hints.h"
#include "sluice/framework/plan/persistables.h"
#include "sluice/framework/plan/run_observer.h"
#include "sluice/framework/run/executor.h"
#include "sluice/framework/values/scope_lock.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

// A run replaces the tensors of `values` only, so their memory can be shared.
void CopyAllPersistables(const Program& program,
                         const Scope& scope,
                         Scope* values) {
  const ScopeLock lock(&scope, ScopeAccess::kRead);
  for (const VarDesc& var : program.block().vars()) {
    if (!var.persistable) continue;
    const Variable* variable = scope.FindVar(var.name);
    const Tensor* tensor =
        variable == nullptr ? nullptr : variable->Get<Tensor>();
    if (tensor != nullptr) {
      *values->Var(var.name).GetMutable<Tensor>() = *tensor;
    }
  }
}

// The check id of the error that ends a run whose results are not needed.
constexpr const char* kNothingLeft = "tune.nothing_left";

// A key by which Executor::Prepare distinguishes plans of one program.
std::string KeyOf(const Plan& plan) {
  std::string key;
  for (const FeedSpec& feed : plan.feed_specs()) {
    key += Format("{} {} {}, ", feed.name, feed.dtype, feed.dims);
  }
  for (const std::string& fetch : plan.fetch_names()) {
    key += fetch + " ";
  }
  return key;
}

// Tunes each plan of a program of several stretches before its first run, on
// the values of one run of the program.
class StretchTuner final : public RunObserver {
 public:
  explicit StretchTuner(const TuneOptions& options) : options_(options) {}

  std::vector<Tensor> RunPlan(const Plan& plan,
                              const Feeds& feeds,
                              Scope* scope) {
    const double left = options_.budget_seconds - result_.seconds;
    if (result_.cancelled || left <= 0) {
      Raise(ErrorCode::kFailedPrecondition, kNothingLeft,
            "tuning was ended, or has used up its budget");
    }
    TuneFirst(plan, feeds, scope, left);
    if (plan.blocks().empty()) return plan.Run(feeds, scope);
    return plan.RunObserved(feeds, scope, *this);
  }

  // Plans of blocks are tuned with the values of their first run.
  bool synchronise() const override { return false; }
  void BeforeBlock(const Plan& block,
                   const Feeds& feeds,
                   Scope* scope) override {
    const double left = options_.budget_seconds - result_.seconds;
    if (!result_.cancelled && left > 0) TuneFirst(block, feeds, scope, left);
  }

  TuneResult Take() { return std::move(result_); }
  void Cancel() { result_.cancelled = true; }

 private:
  void TuneFirst(const Plan& plan,
                 const Feeds& feeds,
                 Scope* scope,
                 double seconds) {
    if (!tuned_.insert(KeyOf(plan)).second) return;
    Scope values;
    CopyPersistables(plan, scope, &values);
    TuneOptions options = options_;
    options.budget_seconds = seconds;
    Add(Tune(plan, feeds, &values, options));
  }
  void Add(TuneResult one) {
    std::move(one.signatures.begin(), one.signatures.end(),
              std::back_inserter(result_.signatures));
    result_.known += one.known;
    result_.left_out += one.left_out;
    result_.disturbed += one.disturbed;
    result_.seconds += one.seconds;
    result_.cancelled = one.cancelled;
  }

  const TuneOptions& options_;
  std::set<std::string> tuned_;
  TuneResult result_;
};

// The plan with the ops apart that passes fused in the one that is prepared
// now; null if there are none.
std::shared_ptr<const Plan> PrepareApart(const PreparePlan& prepare) {
  std::string hints;
  std::set<std::string> passes;
  std::shared_ptr<const Plan> apart;
  // Where one pass may not, a later one may fuse them.
  for (bool fused = true; fused;) {
    const KernelHintGuard guard(hints);
    const auto plan = prepare();
    if (!hints.empty()) apart = plan;
    fused = false;
    for (const Decision& decision : plan->decisions()) {
      if (decision.covers.size() < 2 || decision.pass.empty()) continue;
      if (!passes.insert(decision.pass).second) continue;
      hints += Format("exclude pass={}\n", decision.pass);
      fused = true;
    }
  }
  return apart;
}

TuneResult TuneStretches(Executor& executor,
                         const Program& program,
                         const Feeds& feeds,
                         const Fetches& fetches,
                         Scope* values,
                         const TuneOptions& options) {
  StretchTuner tuner(options);
  try {
    executor.Run(program, feeds, fetches, values,
                 [&](const Plan& plan, const Feeds& fed, Scope* scope) {
                   return tuner.RunPlan(plan, fed, scope);
                 });
  } catch (const Error& error) {
    if (error.check_id() == "run.cancelled") {
      tuner.Cancel();
    } else if (error.check_id() != kNothingLeft) {
      throw;
    }
  }
  return tuner.Take();
}

}  // namespace

TuneResult Tune(Executor& executor,
                const Program& program,
                const Feeds& feeds,
                const Fetches& fetches,
                Scope* scope,
                const TuneOptions& options) {
  const auto plan = executor.Prepare(program, feeds, fetches);
  plan->RequireAlone("tuning");
  Scope values;
  CopyAllPersistables(program, scope == nullptr ? executor.scope() : *scope,
                      &values);
  if (!plan->whole() || !plan->blocks().empty()) {
    return TuneStretches(executor, program, feeds, fetches, &values, options);
  }
  const PreparePlan prepare = [&] {
    return executor.Prepare(program, feeds, fetches);
  };
  return TunePlans(
      prepare, [&] { return PrepareApart(prepare); }, feeds, &values, options);
}

}  // namespace sluice
