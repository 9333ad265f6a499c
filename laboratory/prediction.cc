#include "sluice/laboratory/prediction.h"

#include <algorithm>
#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "sluice/framework/choice/op_threads.h"
#include "sluice/framework/costs/cache_sizes.h"
#include "sluice/framework/plan/persistables.h"
#include "sluice/framework/plan/run_observer.h"
#include "sluice/laboratory/cache_state.h"
#include "sluice/laboratory/measure/measure_clock.h"
#include "sluice/laboratory/measure/race.h"
#include "sluice/laboratory/records/record_store.h"
#include "sluice/laboratory/tuning/kernel_run.h"
#include "sluice/platform/cancel.h"
#include "sluice/platform/error.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {

namespace {

constexpr int64_t kLine = 64;

// Figures of `./dev bench dispatch` on the machines that were measured.
constexpr double kSecondsOfRun = 3e-7;
constexpr double kSecondsOfInstruction = 8e-9;
constexpr double kSecondsOfResult = 1e-7;       // to allocate and free it
constexpr double kSecondsOfPersistable = 3e-8;  // to find it in the scope

// Assumed for a link between two places that was not measured.
constexpr double kLinkSeconds = 1e-5;
constexpr double kLinkBytesPerSecond = 1e10;

void Read(const void* memory, int64_t bytes) {
  const auto* lines = static_cast<const volatile unsigned char*>(memory);
  ParallelFor(bytes / kLine, 1 << 14, [lines](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      (void)lines[i * kLine];
    }
  });
}

// Memory whose reading evicts other memory from the caches.
class Displacer {
 public:
  void Touch(int64_t bytes) {
    if (static_cast<int64_t>(memory_.size()) < bytes) {
      memory_.assign(static_cast<size_t>(bytes), 1);
    }
    auto* lines = static_cast<volatile unsigned char*>(memory_.data());
    ParallelFor(bytes / kLine, 1 << 14, [lines](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        lines[i * kLine] = lines[i * kLine];
      }
    });
  }

 private:
  std::vector<unsigned char> memory_;
};

// How to prepare the operands of an op before a call.
struct Preparation {
  int64_t displaced = 0;          // bytes touched first
  std::vector<bool> near_inputs;  // inputs read after that
  std::vector<bool> near_outputs;

  bool operator<(const Preparation& other) const {
    return std::tie(displaced, near_inputs, near_outputs) <
           std::tie(other.displaced, other.near_inputs, other.near_outputs);
  }
};

// Memory touched less than this many bytes ago may still be in a core's cache.
int64_t Near() {
  return DataCacheSizes().l2;
}

// Beyond this distance, memory is in no cache.
int64_t Far() {
  return 2 * DataCacheSizes().l3;
}

Preparation PreparationFor(const Plan& plan,
                           const PlannedOp& op,
                           const OperandState& state) {
  Preparation preparation;
  double bytes = 0;
  double distances = 0;
  const auto add = [&](const std::vector<int>& slots,
                       const std::vector<int64_t>& distance,
                       std::vector<bool>* near) {
    for (size_t i = 0; i < slots.size(); ++i) {
      const bool is_near = distance[i] <= Near();
      near->push_back(is_near);
      if (is_near) continue;
      const auto size = static_cast<double>(plan.slots()[slots[i]].bytes);
      bytes += size;
      distances += size * static_cast<double>(std::min(distance[i], Far()));
    }
  };
  add(op.inputs, state.inputs, &preparation.near_inputs);
  add(op.outputs, state.outputs, &preparation.near_outputs);
  if (bytes > 0) {
    // Rounded up to steps, so that similar ops share a measurement.
    constexpr int64_t kStep = int64_t{1} << 18;
    preparation.displaced =
        (static_cast<int64_t>(distances / bytes) / kStep + 1) * kStep;
  }
  return preparation;
}

// The op that runs just before another and computes inputs of it. Its outputs
// are not always in a cache: some kernels use non-temporal stores.
class Producer {
 public:
  Producer(const Plan& plan, int op, int reader, const Tensor* tensors)
      : op_(Isolate(plan, op, tensors)),
        run_(op_,
             *plan.decisions()[op].kernel,
             plan.decisions()[op].place,
             plan.num_threads()) {
    const std::vector<int>& outputs = plan.ops()[op].outputs;
    const std::vector<int>& inputs = plan.ops()[reader].inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto found = std::find(outputs.begin(), outputs.end(), inputs[i]);
      if (found != outputs.end()) gives_[i] = found - outputs.begin();
    }
  }

  static bool Gives(const PlannedOp& op, const PlannedOp& reader) {
    return std::find_first_of(op.outputs.begin(), op.outputs.end(),
                              reader.inputs.begin(),
                              reader.inputs.end()) != op.outputs.end();
  }

  void Run() { run_.Run(); }

  // Makes `reader` read the outputs of Run.
  void Feed(IsolatedOp* reader) const {
    for (const auto& [input, output] : gives_) {
      reader->inputs[input] = run_.outputs()[output];
    }
  }
  bool Feeds(size_t input) const { return gives_.count(input) > 0; }

 private:
  IsolatedOp op_;
  KernelRun run_;
  std::map<size_t, ptrdiff_t> gives_;  // input of the reader: output
};

class Predictor : public RunObserver {
 public:
  Predictor(const Plan& plan, const PredictionOptions& options)
      : states_(OperandStates(plan)),
        options_(options),
        end_(ClockSeconds() + options.budget_seconds) {
    for (const Decision& decision : plan.decisions()) {
      prediction_.warm.push_back(WarmSeconds(decision));
    }
    prediction_.ops = prediction_.warm;
    prediction_.measured.resize(plan.ops().size());
  }

  void Before(const Plan& plan,
              const Instruction& instruction,
              const Tensor* tensors) override {
    if (instruction.kernel == nullptr) return;
    const int op = instruction.context;
    const PlannedOp& planned = plan.ops()[op];
    const Decision& decision = plan.decisions()[op];
    const int last = std::exchange(last_, op);
    Preparation preparation;
    // The caches are the CPU's.
    if (planned.place.kind == PlaceKind::kCPU) {
      preparation = PreparationFor(plan, planned, states_[op]);
    }
    const Decision* producer = ProducerOf(plan, op, last);
    auto key = std::tuple(decision.list.get(), decision.kernel, preparation,
                          producer == nullptr ? nullptr : producer->list.get(),
                          producer == nullptr ? nullptr : producer->kernel);
    auto known = known_.find(key);
    if (known == known_.end()) {
      if (ClockSeconds() >= end_) return;
      std::optional<Producer> before;
      if (producer != nullptr) before.emplace(plan, last, op, tensors);
      const double seconds =
          MeasureOp(Isolate(plan, op, tensors), decision, plan.num_threads(),
                    preparation, before ? &*before : nullptr);
      if (seconds <= 0) return;
      known = known_.emplace(std::move(key), seconds).first;
    }
    prediction_.ops[op] = known->second;
    prediction_.measured[op] = true;
  }

  PlanPrediction Take() { return std::move(prediction_); }

 private:
  static double WarmSeconds(const Decision& decision) {
    for (const Candidate& candidate : decision.candidates()) {
      if (candidate.kernel == decision.kernel) return candidate.seconds;
    }
    return 0;
  }

  // The decision of the previous CPU op, if it computes inputs of this one.
  static const Decision* ProducerOf(const Plan& plan, int op, int last) {
    const auto on_cpu = [&](int index) {
      return plan.ops()[index].place.kind == PlaceKind::kCPU;
    };
    const bool gives = last >= 0 && on_cpu(op) && on_cpu(last) &&
                       Producer::Gives(plan.ops()[last], plan.ops()[op]);
    return gives ? &plan.decisions()[last] : nullptr;
  }

  // Returns 0 if there was no time.
  double MeasureOp(IsolatedOp op,
                   const Decision& decision,
                   int num_threads,
                   const Preparation& preparation,
                   Producer* producer) {
    if (producer != nullptr) {
      producer->Run();
      producer->Feed(&op);
    }
    num_threads = ThreadsFor(op.facts.QueryAt(decision.place), *decision.kernel,
                             num_threads);
    KernelRun run(op, *decision.kernel, decision.place, num_threads);
    // Evicting operands also evicts code and data of libraries; a call on other
    // operands brings those back.
    IsolatedOp other = op;
    for (size_t i = 0; i < other.inputs.size(); ++i) {
      Tensor& input = other.inputs[i];
      const bool far = preparation.displaced > 0 && input.allocated() &&
                       !preparation.near_inputs[i];
      if (far) input = input.CopyTo(input.place());
    }
    KernelRun twin(other, *decision.kernel, decision.place, num_threads);
    Contestant contestant;
    contestant.run = [&run] { run.Run(); };
    if (preparation.displaced > 0 || producer != nullptr) {
      contestant.before = [&] {
        if (preparation.displaced > 0) {
          displacer_.Touch(preparation.displaced);
          twin.Run();
          TouchNear(op, run, preparation, producer);
        }
        if (producer != nullptr) producer->Run();
      };
    }
    RaceOptions options;
    options.budget_seconds =
        std::min(options_.op_seconds, std::max(end_ - ClockSeconds(), 1e-3));
    // Eviction takes longer than most kernels do.
    options.max_rounds = preparation.displaced > 0 ? 9 : 21;
    options.interval = 0.02;
    options.cancelled = &CancelRequested;
    const Timing timing = Measure(contestant, options);
    SLUICE_ENFORCE(timing.outcome != RaceOutcome::kThrew, ErrorCode::kInternal,
                   "predict.raised", "{}: the kernel raised by itself: {}",
                   decision.op, timing.error);
    return Undisturbed(timing);
  }

  static void TouchNear(const IsolatedOp& op,
                        const KernelRun& run,
                        const Preparation& preparation,
                        const Producer* producer) {
    const auto touch = [](const Tensor& tensor) {
      if (!tensor.allocated()) return;
      Read(tensor.raw_data(), static_cast<int64_t>(tensor.bytes()));
    };
    for (size_t i = 0; i < run.outputs().size(); ++i) {
      if (preparation.near_outputs[i]) touch(run.outputs()[i]);
    }
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const bool written = producer != nullptr && producer->Feeds(i);
      if (preparation.near_inputs[i] && !written) touch(op.inputs[i]);
    }
  }

  std::vector<OperandState> states_;
  const PredictionOptions& options_;
  double end_;
  std::map<std::tuple<const CandidateList*,
                      const KernelDef*,
                      Preparation,
                      const CandidateList*,
                      const KernelDef*>,
           double>
      known_;
  int last_ = -1;  // the previous op
  Displacer displacer_;
  PlanPrediction prediction_;
};

}  // namespace

double Undisturbed(const Timing& timing) {
  constexpr double kNoisy = 0.25;
  const bool few = timing.rounds < 5;
  return few || timing.spread > kNoisy ? timing.best : timing.median;
}

double PlanPrediction::total() const {
  return std::accumulate(ops.begin(), ops.end(), transfers + executor);
}

double ExecutorSeconds(const Plan& plan) {
  size_t results = plan.fetch_names().size();
  size_t persistables = 0;
  for (const Slot& slot : plan.slots()) {
    if (slot.kind == SlotKind::kShadow) ++results;
    if (slot.kind == SlotKind::kPersistable) ++persistables;
  }
  return kSecondsOfRun +
         kSecondsOfInstruction *
             static_cast<double>(plan.instructions().size()) +
         kSecondsOfResult * static_cast<double>(results) +
         kSecondsOfPersistable * static_cast<double>(persistables);
}

PlanPrediction Predict(const Plan& plan,
                       const Feeds& feeds,
                       const Scope* scope,
                       const PredictionOptions& options) try {
  SLUICE_ENFORCE(options.budget_seconds > 0 && options.op_seconds > 0,
                 ErrorCode::kInvalidArgument, "predict.budget",
                 "a prediction needs budgets of more than 0 seconds, got {} "
                 "and {} for an op",
                 options.budget_seconds, options.op_seconds);
  Scope copies;
  CopyPersistables(plan, scope, &copies);
  Predictor predictor(plan, options);
  plan.RunObserved(feeds, &copies, predictor);
  PlanPrediction prediction = predictor.Take();
  for (const Transfer& transfer : plan.transfers()) {
    prediction.transfers += kLinkSeconds + static_cast<double>(transfer.bytes) /
                                               kLinkBytesPerSecond;
  }
  prediction.executor = ExecutorSeconds(plan);
  return prediction;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
