#include "benchmarks/bench_util.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "sluice/framework/run/run_op.h"
#include "sluice/platform/cpu/cpu_info.h"

namespace sluice::bench {
namespace {

using nlohmann::ordered_json;

// The figure as a share of the limit; smaller values are better in units of
// time and memory.
double ShareOf(const Row& row, double limit) {
  const bool rate = row.unit.find("/s") != std::string::npos;
  return rate ? row.value / limit : limit / row.value;
}

ordered_json OrNull(const std::optional<double>& number) {
  return number ? ordered_json(*number) : nullptr;
}

ordered_json ToJson(const Row& row) {
  ordered_json json = {{"id", row.id},
                       {"unit", row.unit},
                       {"value", row.value},
                       {"limit", OrNull(row.limit)},
                       {"at_most", OrNull(row.at_most)},
                       {"of_best", OrNull(row.of_best)},
                       {"peers", ordered_json(row.peers)}};
  if (row.seconds) json["us"] = 1e6 * *row.seconds;
  if (!row.note.empty()) json["note"] = row.note;
  for (const auto& [output, sum] : row.sums) {
    json["sums"][output] = {sum.first, sum.second};
  }
  return json;
}

std::string Machine() {
  return CpuName() + ", " + std::to_string(AvailableCpus()) + " CPUs, " +
         std::string(CpuInstructionSet());
}

double Seconds(FunctionRef<void()> call) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  call();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The median of the results of `measure`, called as often as in MedianSeconds.
double Median(double seconds, FunctionRef<double()> measure) {
  if (seconds <= 0) return measure();
  measure();
  const double once =
      std::max(Seconds([&] { static_cast<void>(measure()); }), 1e-9);
  const auto count =
      static_cast<size_t>(std::clamp(seconds / once, 7.0, 20000.0));
  std::vector<double> values(count);
  for (double& value : values) {
    value = measure();
  }
  return MedianOf(std::move(values));
}

}  // namespace

Options ParseOptions(int argc,
                     char** argv,
                     const std::string& about,
                     const std::vector<std::string>& groups) {
  Options options;
  CLI::App app(about);
  app.add_option("--json", options.json, "Write the rows to this file");
  app.add_option("--threads", options.threads, "Threads of the threaded rows")
      ->check(CLI::Range(1, 1024));
  app.add_option("--seconds", options.seconds, "Time for each figure")
      ->check(CLI::Range(0.0, 60.0));
  AddSmokeOption(app, &options.smoke);
  if (!groups.empty()) {
    app.add_option("--only", options.only, "One group of rows")
        ->check(CLI::IsMember(groups));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  if (options.smoke && app.count("--seconds") == 0) options.seconds = 0;
  return options;
}

void AddSmokeOption(CLI::App& app, bool* smoke) {
  app.add_flag("--smoke", *smoke,
               "Run everything once, with small sizes, as a test: bounds of "
               "time do not count");
}

Tensor RandomTensor(const std::string& op, const DDim& dims, int64_t seed) {
  const std::vector<int64_t> shape(dims.begin(), dims.end());
  return RunOp(op, {}, {{"shape", shape}, {"seed", seed}}).at("Out");
}

double MedianOf(std::vector<double> values) {
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double MedianSeconds(double seconds, FunctionRef<void()> call) {
  return Median(seconds, [&] { return Seconds(call); });
}

double MedianDifference(double seconds,
                        FunctionRef<void()> first,
                        FunctionRef<void()> second) {
  return Median(seconds, [&] {
    const double before = Seconds(first);
    return Seconds(second) - before;
  });
}

void Report::Add(Row row) {
  std::printf("%-48s %12.4g %-10s  ", row.id.c_str(), row.value,
              row.unit.c_str());
  if (row.limit && row.unit == "bytes") {
    std::printf("of at most %.4g", *row.limit);
  } else if (row.limit) {
    std::printf("%3.0f %% of the limit, %.4g", 100 * ShareOf(row, *row.limit),
                *row.limit);
  }
  if (row.at_most) std::printf("of at most %.4g", *row.at_most);
  if (!row.note.empty()) std::printf("  (%s)", row.note.c_str());
  std::printf("\n");
  std::fflush(stdout);
  rows_.push_back(std::move(row));
  if (Clock::now() - written_ < std::chrono::seconds(5)) return;
  written_ = Clock::now();
  static_cast<void>(Write(file_));  // the last write reports failure
}

void Report::LeaveOut(const std::string& id, const std::string& reason) {
  std::printf("%-48s left out: %s\n", id.c_str(), reason.c_str());
  left_out_[id] = reason;
}

void Report::Fail(const std::string& id, const std::string& reason) {
  std::printf("%-48s FAILED: %s\n", id.c_str(), reason.c_str());
  std::fflush(stdout);
  failed_[id] = reason;
}

bool Report::Write(const std::string& file) const {
  if (file.empty()) return true;
  ordered_json all = {{"machine", Machine()}};
  if (!device_.empty()) {
    all["machine"] = Machine() + ", " + device_;
    all["device"] = device_;
    all["emulated"] = emulated_;
    all["failed"] = failed_;
  }
  if (!suite_.empty()) {
    all["suite"] = {{"name", suite_}, {"arguments", peer_arguments_}};
  }
  all["rows"] = ordered_json::array();
  for (const Row& row : rows_) {
    all["rows"].push_back(ToJson(row));
  }
  all["left_out"] = left_out_;
  std::ofstream out(file);
  out << all.dump(1) << "\n";
  if (out.flush()) return true;
  std::fprintf(stderr, "cannot write %s\n", file.c_str());
  return false;
}

int Report::Finish(const Options& options) const {
  bool missed = failed();
  for (const Row& row : rows_) {
    if (!std::isfinite(row.value)) {
      std::printf("WRONG: %s is not finite\n", row.id.c_str());
      missed = true;
    } else if (row.at_most && row.value > *row.at_most) {
      std::printf("MISSED: %s: %.4g %s, at most %.4g\n", row.id.c_str(),
                  row.value, row.unit.c_str(), *row.at_most);
      missed = missed || row.exact || !options.smoke;
    }
  }
  return Write(options.json) && !missed ? 0 : 1;
}

}  // namespace sluice::bench
