// Every single CUDA kernel, compared with the device's limits: bandwidth,
// arithmetic, copies and launches at cuda:0.
//
//   bench_cuda_kernels [--json FILE] [--seconds S] [--only TEXT] [--list]
//
// benchmarks/results/README.md explains the figures; bench_cuda.py runs this
// program and adds training steps and other libraries.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "benchmarks/cuda/list_rows.h"
#include "benchmarks/cuda/measure.h"
#include <CLI/CLI.hpp>

#include "sluice/memory/allocator.h"
#include "sluice/platform/device.h"

namespace {

using sluice::CUDAPlace;
using sluice::Error;
using sluice::ErrorCode;
using sluice::PlaceKey;
using sluice::bench::DeviceLimits;
using sluice::bench::DeviceTimer;
using sluice::bench::Report;

struct Options {
  std::string json;
  double seconds = 0.05;
  double tolerance = 2e-4;  // for sums of some thousand products
  std::string only;
  double limit = 3600;
  bool list = false;
  bool profile = false;

  bool Wants(const std::string& id) const {
    return id.find(only) != std::string::npos;
  }
};

Options ParseOptions(int argc, char** argv) {
  Options options;
  CLI::App app("Every CUDA kernel, beside what the device can do.");
  app.add_option("--json", options.json, "Write the rows to this file");
  app.add_option("--seconds", options.seconds,
                 "Time for each figure, at least three calls")
      ->check(CLI::Range(0.0, 60.0))
      ->capture_default_str();
  app.add_option("--tolerance", options.tolerance,
                 "How far a number may be from the CPU's kernel's, as a part "
                 "of it where it is past 1")
      ->capture_default_str();
  app.add_option("--only", options.only,
                 "Rows with this text in their id: /1MB, conv2d, "
                 "cuda/softmax/4KB");
  app.add_option("--limit", options.limit,
                 "Seconds for everything: rows after that are left out")
      ->capture_default_str();
  app.add_flag("--list", options.list, "Print the rows as JSON and end");
  app.add_flag("--profile", options.profile,
               "Run each row once between the profiler's marks: ncu "
               "--profile-from-start off");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return options;
}

std::string FirstLine(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// Calls `measure` and records the result. Returns false if the device is lost,
// so that nothing else can be measured.
template <typename Measure>
bool Try(const std::string& id, Report* report, const Measure& measure) {
  try {
    measure();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kResourceExhausted ||
        error.check_id() == "bench.on_cpu") {
      report->LeaveOut(id, FirstLine(error.what()));
    } else {
      report->Fail(id, error.what());
      if (error.code() == ErrorCode::kDeviceLost) return false;
    }
  } catch (const std::exception& error) {
    report->Fail(id, error.what());
  }
  sluice::ReleaseCache(PlaceKey(CUDAPlace{0}));
  return true;
}

bool MeasureCopies(const Options& options, DeviceTimer& timer, Report* report) {
  for (const auto& row : sluice::bench::CopyRows()) {
    if (!options.Wants(row.id)) continue;
    const bool goes_on = Try(row.id, report, [&] {
      report->Add(sluice::bench::MeasureCopy(row, timer));
    });
    if (!goes_on) return false;
  }
  return true;
}

bool MeasureAll(const Options& options,
                const sluice::bench::Rows& all,
                DeviceTimer& timer,
                Report* report) {
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::duration<double>(options.limit);
  DeviceLimits limits;
  if (!Try("cuda/limits", report, [&] { limits = MeasureLimits(timer); })) {
    return false;
  }
  if (options.Wants("cuda/pairs")) {
    report->Add({.id = "cuda/pairs",
                 .unit = "G pairs/s",
                 .value = limits.pairs,
                 .note = "subtract, absolute and add on registers only"});
  }
  if (!MeasureCopies(options, timer, report)) return false;
  if (options.Wants("cuda/launch")) {
    const bool goes_on = Try("cuda/launch", report, [&] {
      for (auto& row : sluice::bench::MeasureLaunches(timer)) {
        report->Add(std::move(row));
      }
    });
    if (!goes_on) return false;
  }
  for (const auto& row : all.rows) {
    if (!options.Wants(row.id)) continue;
    if (std::chrono::steady_clock::now() > end) {
      report->LeaveOut(row.id, "no time left (--limit)");
      continue;
    }
    const bool goes_on = Try(row.id, report, [&] {
      report->Add(MeasureRow(row, limits, options.tolerance, timer));
    });
    if (!goes_on) return false;
  }
  return true;
}

void ProfileAll(const Options& options,
                const sluice::bench::Rows& all,
                DeviceTimer& timer,
                Report* report) {
  for (const auto& row : all.rows) {
    if (!options.Wants(row.id)) continue;
    const bool goes_on = Try(row.id, report, [&] { ProfileRow(row, timer); });
    if (!goes_on) return;
  }
}

int Run(const Options& options) {
  auto& device = sluice::DeviceManager::Instance().Get(CUDAPlace{0});
  const sluice::bench::Rows all = sluice::bench::AllRows();
  if (options.list) {
    std::puts(ListRows(all, sluice::bench::CopyRows()).c_str());
    return 0;
  }
  DeviceTimer timer(CUDAPlace{0}, options.seconds);
  Report report(options.json, device.Description(), timer.emulated());
  if (options.profile) {
    ProfileAll(options, all, timer, &report);
    return report.failed() ? 1 : 0;
  }
  std::printf("%s\n", device.Description().c_str());
  if (timer.emulated()) {
    std::puts(
        "The CPU plays the device, with small sizes: these times mean "
        "nothing.");
  }
  if (!MeasureAll(options, all, timer, &report)) {
    report.Fail("cuda",
                "the device was lost; what would have come next is "
                "missing");
  }
  for (const auto& [op, reason] : all.left_out) {
    report.LeaveOut(op, reason);
  }
  return report.Write(options.json) && !report.failed() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(ParseOptions(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_cuda_kernels: %s\n", error.what());
    return 1;
  }
}
