#include "sluice/framework/laboratory/tune.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "sluice/framework/laboratory/kernel_run.h"
#include "sluice/framework/laboratory/reference.h"
#include "sluice/framework/measure/record_store.h"
#include "sluice/framework/plan/run_observer.h"
#include "sluice/platform/error.h"

namespace sluice::framework {

using platform::ErrorCode;
using platform::Format;

namespace {

double Now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Whether every candidate of a signature was measured, or found to be wrong.
bool Known(const CandidateList& list) {
  return std::none_of(list.candidates.begin(), list.candidates.end(),
                      [](const Candidate& candidate) {
                        return candidate.refusal.empty() &&
                               candidate.evidence != Evidence::kRecord;
                      });
}

// The ops of a plan that have a signature of their own, by index in ops().
std::vector<int> DistinctOps(const Plan& plan) {
  std::set<const CandidateList*> seen;
  std::vector<int> ops;
  for (size_t i = 0; i < plan.decisions().size(); ++i) {
    if (seen.insert(plan.decisions()[i].list.get()).second) {
      ops.push_back(static_cast<int>(i));
    }
  }
  return ops;
}

// Compares the kernels of one op with its reference and races them.
class SignatureTuner {
 public:
  SignatureTuner(const IsolatedOp& op,
                 const Decision& decision,
                 int num_threads,
                 double deadline)
      : op_(op),
        decision_(decision),
        num_threads_(num_threads),
        deadline_(deadline) {
    result_.op_index = decision.op_index;
    result_.op = decision.op;
    result_.signature = decision.list->signature;
  }

  TunedSignature Run(double budget) {
    MakeRuns();
    CheckRuns();
    Race(budget);
    return std::move(result_);
  }

 private:
  // Refusals of a Prepare that has not been asked yet come now.
  void MakeRuns() {
    for (const Candidate& candidate : decision_.candidates()) {
      if (!candidate.refusal.empty()) continue;
      TunedKernel tuned;
      tuned.kernel = candidate.kernel;
      tuned.place = candidate.place;
      tuned.predicted_seconds = candidate.seconds;
      tuned.evidence = candidate.evidence;
      std::unique_ptr<KernelRun> run;
      try {
        run = std::make_unique<KernelRun>(op_, *candidate.kernel,
                                          candidate.place, num_threads_);
      } catch (const platform::Error& error) {
        if (error.code() == ErrorCode::kUnimplemented) continue;
        tuned.message = error.what();
      }
      if (candidate.kernel == decision_.kernel) {
        result_.before = static_cast<int>(result_.kernels.size());
      }
      result_.kernels.push_back(std::move(tuned));
      runs_.push_back(std::move(run));
    }
  }

  void CheckRuns() {
    const Reference reference = ComputeReference(op_, Registry::Global());
    if (reference.kernel == nullptr) return;
    for (size_t i = 0; i < runs_.size(); ++i) {
      if (runs_[i] == nullptr || Now() > deadline_) continue;
      TunedKernel& tuned = result_.kernels[i];
      try {
        runs_[i]->Run();
        const Deviation deviation =
            CompareWithReference(op_, reference, runs_[i]->outputs());
        tuned.verdict =
            deviation.message.empty() ? Verdict::kOk : Verdict::kWrong;
        tuned.message = deviation.message;
        tuned.error = deviation.error;
      } catch (const platform::Error& error) {
        tuned.message = error.what();
      }
    }
  }

  void Race(double budget) {
    std::vector<Contestant> contestants;
    std::vector<size_t> kernels;
    for (size_t i = 0; i < runs_.size(); ++i) {
      if (result_.kernels[i].verdict != Verdict::kOk) continue;
      kernels.push_back(i);
      contestants.push_back({result_.kernels[i].kernel->variant,
                             [run = runs_[i].get()] { run->Run(); }});
    }
    budget = std::min(budget, deadline_ - Now());
    if (contestants.empty() || budget <= 0) return;
    RaceOptions options;
    options.budget_seconds = budget;
    options.min_rounds = 5;
    options.max_rounds = contestants.size() == 1 ? 21 : 101;
    options.interval = 0.02;
    options.give_up_ratio = 1.3;
    const RaceResult race = framework::Race(contestants, options);
    for (size_t i = 0; i < kernels.size(); ++i) {
      result_.kernels[kernels[i]].timing = race.timings[i];
    }
    if (race.winner >= 0) {
      result_.winner = static_cast<int>(kernels[race.winner]);
      result_.tie = race.tie;
    }
  }

  const IsolatedOp& op_;
  const Decision& decision_;
  int num_threads_;
  double deadline_;
  TunedSignature result_;
  std::vector<std::unique_ptr<KernelRun>> runs_;
};

std::vector<Record> RecordsOf(const TunedSignature& tuned, int num_threads) {
  std::vector<Record> records;
  for (const TunedKernel& kernel : tuned.kernels) {
    if (kernel.verdict == Verdict::kUnchecked) continue;
    Record record;
    record.op = tuned.op;
    record.signature = tuned.signature;
    record.kernel = ToString(*kernel.kernel);
    record.kernel_version = std::to_string(kernel.kernel->version);
    record.threads = num_threads;
    record.place = ToString(kernel.place);
    record.verdict = kernel.verdict;
    record.message = kernel.message;
    record.best = kernel.timing.best;
    record.median = kernel.timing.median;
    record.low = kernel.timing.low;
    record.high = kernel.timing.high;
    record.spread = kernel.timing.spread;
    record.rounds = kernel.timing.rounds;
    record.error = kernel.error;
    if (record.rounds == 0 && record.verdict == Verdict::kOk) continue;
    records.push_back(std::move(record));
  }
  return records;
}

// Tunes ops while a plan runs.
class Tuner : public RunObserver {
 public:
  Tuner(const Plan& plan, const TuneOptions& options)
      : options_(options), deadline_(Now() + options.budget_seconds) {
    for (const int op : DistinctOps(plan)) {
      if (!options.again && Known(*plan.decisions()[op].list)) {
        ++result_.known;
      } else {
        wanted_.insert(op);
      }
    }
    total_ = static_cast<int>(wanted_.size());
  }

  void After(const Plan& plan,
             const Instruction& instruction,
             const Tensor* tensors) override {
    if (instruction.kernel == nullptr) return;
    if (wanted_.erase(instruction.context) == 0 || result_.cancelled) return;
    const Decision& decision = plan.decisions()[instruction.context];
    const int done = static_cast<int>(result_.signatures.size());
    if (options_.progress != nullptr &&
        !options_.progress(done, total_, decision.list->signature)) {
      result_.cancelled = true;
      return;
    }
    const double left = deadline_ - Now();
    if (left <= 0) {
      ++result_.left_out;
      return;
    }
    const IsolatedOp op = Isolate(plan, instruction.context, tensors);
    SignatureTuner tuner(op, decision, plan.num_threads(), deadline_);
    // What is left of the budget is shared by what is left to measure; what a
    // signature does not need goes to the others.
    const double share = left / static_cast<double>(wanted_.size() + 1);
    TunedSignature tuned = tuner.Run(std::min(share, kMostSeconds));
    RecordStore::Default().Add(RecordsOf(tuned, plan.num_threads()));
    result_.signatures.push_back(std::move(tuned));
  }

  TuneResult Take() {
    result_.left_out += static_cast<int>(wanted_.size());
    return std::move(result_);
  }

 private:
  // A signature that is not settled by then is a tie for practical purposes.
  static constexpr double kMostSeconds = 0.5;

  const TuneOptions& options_;
  double deadline_;
  std::set<int> wanted_;
  int total_ = 0;
  TuneResult result_;
};

// What a run writes replaces tensors of `values` only; memory is shared.
void CopyPersistables(const Program& program,
                      const Scope& scope,
                      Scope* values) {
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

}  // namespace

TuneResult Tune(const Plan& plan,
                const Feeds& feeds,
                Scope* scope,
                const TuneOptions& options) {
  SLUICE_ENFORCE(options.budget_seconds > 0, ErrorCode::kInvalidArgument,
                 "tune.budget",
                 "tuning needs a budget of more than 0 seconds, got {}",
                 options.budget_seconds);
  const double begin = Now();
  Tuner tuner(plan, options);
  plan.RunObserved(feeds, scope, tuner);
  TuneResult result = tuner.Take();
  result.seconds = Now() - begin;
  return result;
}

TuneResult Tune(Executor& executor,
                const Program& program,
                const Feeds& feeds,
                const Fetches& fetches,
                Scope* scope,
                const TuneOptions& options) {
  TuneResult all;
  TuneOptions rest = options;
  Scope values;
  CopyPersistables(program, scope == nullptr ? executor.scope() : *scope,
                   &values);
  // Each round measures signatures that no earlier one has; three are more than
  // passes have needed.
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    const auto plan = executor.Prepare(program, feeds, fetches);
    TuneResult result = Tune(*plan, feeds, &values, rest);
    const size_t measured = result.signatures.size();
    std::move(result.signatures.begin(), result.signatures.end(),
              std::back_inserter(all.signatures));
    all.known = round == 0 ? result.known : all.known;
    all.left_out = result.left_out;
    all.seconds += result.seconds;
    all.cancelled = result.cancelled;
    executor.ForgetPlans(program);
    rest.again = false;
    rest.budget_seconds = options.budget_seconds - all.seconds;
    if (measured == 0 || all.cancelled || rest.budget_seconds <= 0) break;
  }
  return all;
}

std::string ToString(const TuneResult& result) {
  std::string text;
  for (const TunedSignature& tuned : result.signatures) {
    text += Format("op {}: {}\n", tuned.op_index, tuned.signature);
    std::vector<size_t> order(tuned.kernels.size());
    for (size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const auto key = [&](size_t i) {
        const Timing& timing = tuned.kernels[i].timing;
        return timing.rounds == 0 ? INFINITY : timing.median;
      };
      return key(a) < key(b);
    });
    for (const size_t i : order) {
      const TunedKernel& kernel = tuned.kernels[i];
      const bool before = static_cast<int>(i) == tuned.before;
      const bool winner = static_cast<int>(i) == tuned.winner;
      text += Format("  {} {} {:<40}", winner ? "*" : " ", before ? "<" : " ",
                     ToString(*kernel.kernel));
      if (kernel.timing.rounds > 0) {
        text += Format(" {:>10.2f} us ({:.2f} to {:.2f}, {} rounds), {} {:.2f}",
                       kernel.timing.median * 1e6, kernel.timing.low * 1e6,
                       kernel.timing.high * 1e6, kernel.timing.rounds,
                       kernel.evidence, kernel.predicted_seconds * 1e6);
      }
      if (!kernel.message.empty()) text += Format("  {}", kernel.message);
      text += '\n';
    }
  }
  text += Format(
      "{} signatures measured in {:.2f} s, {} known, {} left out for want of "
      "time{}\n",
      result.signatures.size(), result.seconds, result.known, result.left_out,
      result.cancelled ? "; cancelled" : "");
  return text;
}

}  // namespace sluice::framework
