#include "sluice/laboratory/measure/machine_measurement.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "sluice/framework/costs/cache_sizes.h"
#include "sluice/laboratory/measure/machine_probes.h"
#include "sluice/laboratory/measure/measure_clock.h"
#include "sluice/laboratory/measure/race.h"
#include "sluice/platform/cpu/cpu_info.h"
#include "sluice/platform/error.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kKind = "machine_figures";

// Visits every figure but machine, threads and date, with its name in a file.
template <typename Figures, typename Visit>
void VisitFigures(Figures& figures, Visit visit) {
  visit("float32", figures.operations.float32);
  visit("float64", figures.operations.float64);
  visit("int8", figures.operations.int8);
  visit("bfloat16", figures.operations.bfloat16);
  visit("l1", figures.bytes.l1);
  visit("l2", figures.bytes.l2);
  visit("l3", figures.bytes.l3);
  visit("memory", figures.bytes.memory);
  visit("l1_all_threads", figures.bytes_all_threads.l1);
  visit("l2_all_threads", figures.bytes_all_threads.l2);
  visit("l3_all_threads", figures.bytes_all_threads.l3);
  visit("memory_all_threads", figures.bytes_all_threads.memory);
  visit("parallel_for", figures.parallel_for);
  visit("kernel_call", figures.kernel_call);
  visit("library_call", figures.library_call);
}

// Measures figures one after the other. Each gets an equal share of the
// remaining budget.
class MachineRun {
 public:
  MachineRun(double budget_seconds, int figures)
      : end_(ClockSeconds() + budget_seconds), left_(figures) {}

  // Seconds of one call, or nothing if no time is left. `prepare_seconds` is
  // what the caller needs before each call.
  std::optional<double> Seconds(std::function<void()> call,
                                double prepare_seconds = 0,
                                const std::function<void()>& prepare = {}) {
    const double before = end_ - ClockSeconds();
    const int parts = left_--;
    if (before <= prepare_seconds) return std::nullopt;
    if (prepare) prepare();
    const double budget = (end_ - ClockSeconds()) / parts;
    if (budget <= 0) return std::nullopt;
    const Timing timing =
        Measure({.name = "machine", .run = std::move(call)},
                {.budget_seconds = budget, .max_rounds = 51, .interval = 0.01});
    if (timing.rounds == 0 || timing.median <= 0) return std::nullopt;
    return timing.median;
  }

 private:
  double end_;
  int left_;
};

void MeasureOperations(MachineRun& run,
                       double (*probe)(int64_t),
                       double* figure) {
  constexpr int64_t kRounds = 5000;  // about 10 us
  const double count = probe(1) * kRounds;
  const auto seconds = run.Seconds([probe] { probe(kRounds); });
  if (seconds) *figure = count / *seconds;
}

// Memory for reading, one page-aligned share for each thread.
class ReadBuffer {
 public:
  ReadBuffer(int64_t bytes_each, int threads)
      : floats_each_(std::max<int64_t>(bytes_each / 4 / 1024, 1) * 1024),
        threads_(threads) {}

  int64_t bytes() const { return floats_each_ * 4 * threads_; }

  // Each thread first touches its own share, so that it is local.
  void Allocate() {
    memory_.reset(static_cast<float*>(
        std::aligned_alloc(4096, static_cast<size_t>(bytes()))));
    if (!memory_) return;
    ParallelFor(threads_, 1, [this](int64_t begin, int64_t end) {
      std::fill(memory_.get() + begin * floats_each_,
                memory_.get() + end * floats_each_, 1.0F);
    });
  }

  // Reads everything `times` times.
  void Read(int64_t times) const {
    if (!memory_) return;
    ParallelFor(threads_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t time = 0; time < times; ++time) {
        RunReadProbe(memory_.get() + begin * floats_each_,
                     (end - begin) * floats_each_);
      }
    });
  }

  bool allocated() const { return memory_ != nullptr; }

 private:
  struct Free {
    void operator()(float* memory) const { std::free(memory); }
  };

  int64_t floats_each_;
  int threads_;
  std::unique_ptr<float, Free> memory_;
};

void MeasureLevel(MachineRun& run,
                  int64_t bytes_each,
                  int threads,
                  double* figure) {
  // Large enough that the cost of starting a loop on all threads is negligible.
  constexpr int64_t kEnoughBytes = 8 << 20;
  constexpr double kTouchedPerSecond = 0.5e9;
  ReadBuffer buffer(bytes_each, threads);
  const int64_t times =
      std::max<int64_t>(kEnoughBytes / (buffer.bytes() / threads), 1);
  const auto seconds =
      run.Seconds([&] { buffer.Read(times); },
                  static_cast<double>(buffer.bytes()) / kTouchedPerSecond,
                  [&] { buffer.Allocate(); });
  if (seconds && buffer.allocated()) {
    *figure = static_cast<double>(buffer.bytes() * times) / *seconds;
  }
}

void MeasureBandwidth(MachineRun& run, int threads, Bandwidth* bandwidth) {
  const CacheSizes& caches = DataCacheSizes();
  // Well above the L3 size, but not all the memory of a small machine.
  constexpr int64_t kMostBytes = int64_t{512} << 20;
  const int64_t large =
      std::min({4 * caches.l3, kMostBytes, HostMemoryBytes() / 8});
  MeasureLevel(run, caches.l1 / 2, threads, &bandwidth->l1);
  MeasureLevel(run, caches.l2 / 2, threads, &bandwidth->l2);
  const int64_t shared = std::max(caches.l3 / 2 / threads, 2 * caches.l2);
  MeasureLevel(run, shared, threads, &bandwidth->l3);
  MeasureLevel(run, large / threads, threads, &bandwidth->memory);
}

}  // namespace

MachineFigures MeasureMachine(double budget_seconds) {
  SLUICE_ENFORCE(budget_seconds > 0 && std::isfinite(budget_seconds),
                 ErrorCode::kInvalidArgument, "machine_figures.budget",
                 "measuring the machine: the budget is {} seconds, expected a "
                 "number above 0",
                 budget_seconds);
  const int threads = NumThreads();
  MachineFigures figures = DerivedFigures(CpuInstructionSet(), threads);
  constexpr int kMeasured = 13;
  MachineRun run(budget_seconds, kMeasured);
  {
    const ThreadCountGuard one_thread(1);
    MeasureOperations(run, RunFloat32Probe, &figures.operations.float32);
    MeasureOperations(run, RunFloat64Probe, &figures.operations.float64);
    MeasureOperations(run, RunInt8Probe, &figures.operations.int8);
    MeasureOperations(run, RunBfloat16Probe, &figures.operations.bfloat16);
  }
  const auto loop = run.Seconds(
      [threads] { ParallelFor(threads, 1, [](int64_t, int64_t) {}); });
  if (loop) figures.parallel_for = *loop;
  {
    const ThreadCountGuard one_thread(1);
    MeasureBandwidth(run, 1, &figures.bytes);
  }
  if (threads == 1) {
    figures.bytes_all_threads = figures.bytes;
  } else {
    MeasureBandwidth(run, threads, &figures.bytes_all_threads);
  }
  figures.date = UtcNow();
  return figures;
}

std::string FiguresToJson(const MachineFigures& figures) {
  Json json = {{"kind", kKind},
               {"machine", figures.machine},
               {"threads", figures.threads},
               {"date", figures.date}};
  VisitFigures(figures,
               [&json](const char* name, double value) { json[name] = value; });
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<MachineFigures> FiguresFromJson(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  MachineFigures figures;
  bool sound = true;
  try {
    if (json.at("kind").get_ref<const std::string&>() != kKind) {
      return std::nullopt;
    }
    json.at("machine").get_to(figures.machine);
    json.at("threads").get_to(figures.threads);
    json.at("date").get_to(figures.date);
    VisitFigures(figures, [&](const char* name, double& value) {
      json.at(name).get_to(value);
      sound = sound && std::isfinite(value) && value > 0;
    });
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  sound = sound && figures.threads >= 1 && !figures.machine.empty();
  return sound ? std::optional(figures) : std::nullopt;
}

}  // namespace sluice
