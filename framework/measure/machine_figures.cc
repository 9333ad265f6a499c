#include "sluice/framework/measure/machine_figures.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "sluice/framework/measure/cold_cache.h"
#include "sluice/framework/measure/machine.h"
#include "sluice/framework/measure/machine_probes.h"
#include "sluice/framework/measure/measure_clock.h"
#include "sluice/framework/measure/race.h"
#include "sluice/framework/measure/record.h"
#include "sluice/platform/cpu/cpu_info.h"
#include "sluice/platform/error.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::framework {
namespace {

using platform::ParallelFor;
using Json = nlohmann::ordered_json;

constexpr std::string_view kKind = "machine_figures";

// Every figure but machine, threads and date, with its name in a file.
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

// What is measured one after the other, each in an equal part of what is left
// of the budget.
class MachineRun {
 public:
  MachineRun(double budget_seconds, int figures)
      : end_(ClockSeconds() + budget_seconds), left_(figures) {}

  // Seconds of one call, or nothing when no time is left; `prepare_seconds` is
  // what the caller needs before.
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
  constexpr int64_t kRounds = 5000;  // some 10 us
  const double count = probe(1) * kRounds;
  const auto seconds = run.Seconds([probe] { probe(kRounds); });
  if (seconds) *figure = count / *seconds;
}

// Memory for reading, a part for each thread, aligned to pages.
class ReadBuffer {
 public:
  ReadBuffer(int64_t bytes_each, int threads)
      : floats_each_(std::max<int64_t>(bytes_each / 4 / 1024, 1) * 1024),
        threads_(threads) {}

  int64_t bytes() const { return floats_each_ * 4 * threads_; }

  // Each thread touches its own part first.
  void Allocate() {
    memory_.reset(static_cast<float*>(
        std::aligned_alloc(4096, static_cast<size_t>(bytes()))));
    if (!memory_) return;
    ParallelFor(threads_, 1, [this](int64_t begin, int64_t end) {
      std::fill(memory_.get() + begin * floats_each_,
                memory_.get() + end * floats_each_, 1.0F);
    });
  }

  // Reads everything so many times.
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
  // Enough for a loop on all threads not to count.
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
  // Well above the third level, and not all of a small machine's memory.
  constexpr int64_t kMostBytes = int64_t{512} << 20;
  const int64_t large =
      std::min({4 * caches.l3, kMostBytes, platform::HostMemoryBytes() / 8});
  MeasureLevel(run, caches.l1 / 2, threads, &bandwidth->l1);
  MeasureLevel(run, caches.l2 / 2, threads, &bandwidth->l2);
  const int64_t shared = std::max(caches.l3 / 2 / threads, 2 * caches.l2);
  MeasureLevel(run, shared, threads, &bandwidth->l3);
  MeasureLevel(run, large / threads, threads, &bandwidth->memory);
}

}  // namespace

MachineFigures DerivedFigures(std::string_view instruction_set, int threads) {
  constexpr double kClock = 2.5e9;
  const bool avx512 = instruction_set.starts_with("AVX3");
  const bool avx512_dot = avx512 && instruction_set != "AVX3";
  const bool avx512_bf16 =
      instruction_set == "AVX3_ZEN4" || instruction_set == "AVX3_SPR";
  const bool avx2 = instruction_set == "AVX2";
  // Between the processors with one wide unit for products and those with two.
  const double lanes = avx512 ? 12 : avx2 ? 8 : 4;
  const bool fused = avx512 || avx2 || instruction_set.starts_with("NEON") ||
                     instruction_set.starts_with("SVE");
  MachineFigures figures;
  figures.machine = MachineId().text;
  figures.threads = std::max(threads, 1);
  figures.operations.float32 = kClock * lanes * (fused ? 4 : 2);
  figures.operations.float64 = figures.operations.float32 / 2;
  figures.operations.int8 = figures.operations.float32 * (avx512_dot ? 4 : 1.5);
  figures.operations.bfloat16 =
      figures.operations.float32 * (avx512_bf16 ? 2 : 0.6);
  const double n = figures.threads;
  figures.bytes = {.l1 = kClock * lanes * 8,
                   .l2 = kClock * lanes * 4,
                   .l3 = 25e9,
                   .memory = 12e9};
  figures.bytes_all_threads = {.l1 = figures.bytes.l1 * n,
                               .l2 = figures.bytes.l2 * n,
                               .l3 = figures.bytes.l3 * std::pow(n, 0.9),
                               .memory = figures.bytes.memory * std::sqrt(n)};
  figures.parallel_for = n == 1 ? 10e-9 : 2e-6 + 0.1e-6 * n;
  figures.kernel_call = 50e-9;
  return figures;
}

MachineFigures DerivedFigures() {
  return DerivedFigures(platform::CpuInstructionSet(),
                        platform::AvailableCpus());
}

MachineFigures MeasureMachine(double budget_seconds) {
  SLUICE_ENFORCE(budget_seconds > 0 && std::isfinite(budget_seconds),
                 ErrorCode::kInvalidArgument, "machine_figures.budget",
                 "measuring the machine: the budget is {} seconds, expected a "
                 "number above 0",
                 budget_seconds);
  const int threads = platform::NumThreads();
  MachineFigures figures =
      DerivedFigures(platform::CpuInstructionSet(), threads);
  constexpr int kMeasured = 13;
  MachineRun run(budget_seconds, kMeasured);
  {
    const platform::ThreadCountGuard one_thread(1);
    MeasureOperations(run, RunFloat32Probe, &figures.operations.float32);
    MeasureOperations(run, RunFloat64Probe, &figures.operations.float64);
    MeasureOperations(run, RunInt8Probe, &figures.operations.int8);
    MeasureOperations(run, RunBfloat16Probe, &figures.operations.bfloat16);
  }
  const auto loop = run.Seconds(
      [threads] { ParallelFor(threads, 1, [](int64_t, int64_t) {}); });
  if (loop) figures.parallel_for = *loop;
  {
    const platform::ThreadCountGuard one_thread(1);
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

}  // namespace sluice::framework
