#include "sluice/laboratory/tuning/tune_program.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
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

// Adds a hint for each pass that fused ops of the plan: it keeps these apart.
// Returns whether there were any that `hints` did not have.
bool KeepApart(const Plan& plan, std::set<std::string>* hints) {
  const size_t before = hints->size();
  for (const Decision& decision : plan.decisions()) {
    if (decision.covers.size() < 2 || decision.pass.empty()) continue;
    hints->insert(Format("exclude pass={}\n", decision.pass));
  }
  return hints->size() > before;
}

std::string TextOf(const std::set<std::string>& hints) {
  return std::accumulate(hints.begin(), hints.end(), std::string());
}

// Tunes each plan of a program of several stretches before its first run, on
// the values of one run of the program.
class StretchTuner final : public RunObserver {
 public:
  explicit StretchTuner(const TuneOptions& options) : options_(options) {}

  // Calls run(), which runs the program by RunPlan, until all plans are tuned.
  // Fused ops have to win against their parts, so these are measured, too.
  TuneResult TuneAll(const std::function<void()>& run) {
    RunOnce("", run);
    const int known = result_.known;
    if (result_.left_out > 0 || apart_.empty()) return std::move(result_);
    // Where one pass may not, a later one may fuse them.
    for (std::string hints; hints != TextOf(apart_) && !result_.cancelled;) {
      hints = TextOf(apart_);
      RunOnce(hints, run);
    }
    if (!result_.cancelled) RunOnce("", run);
    result_.known = known;
    result_.left_out = 0;  // the parts are other ops
    return std::move(result_);
  }

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

 private:
  void RunOnce(const std::string& hints, const std::function<void()>& run) {
    const KernelHintGuard guard(hints);
    tuned_.clear();
    try {
      run();
    } catch (const Error& error) {
      if (error.check_id() == "run.cancelled") {
        result_.cancelled = true;
      } else if (error.check_id() != kNothingLeft) {
        throw;
      }
    }
  }
  void TuneFirst(const Plan& plan,
                 const Feeds& feeds,
                 Scope* scope,
                 double seconds) {
    if (!tuned_.insert(KeyOf(plan)).second) return;
    KeepApart(plan, &apart_);
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
  std::set<std::string> apart_;  // hints
  TuneResult result_;
};

// The plan with the ops apart that passes fused in the one that is prepared
// now; null if there are none.
std::shared_ptr<const Plan> PrepareApart(const PreparePlan& prepare) {
  std::set<std::string> hints;
  std::shared_ptr<const Plan> apart;
  // Where one pass may not, a later one may fuse them.
  for (bool fused = true; fused;) {
    const KernelHintGuard guard(TextOf(hints));
    const auto plan = prepare();
    if (!hints.empty()) apart = plan;
    fused = KeepApart(*plan, &hints);
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
  return tuner.TuneAll([&] {
    executor.Run(program, feeds, fetches, values,
                 [&](const Plan& plan, const Feeds& fed, Scope* scope) {
                   return tuner.RunPlan(plan, fed, scope);
                 });
  });
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
