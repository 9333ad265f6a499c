#include "benchmarks/bench_util.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>

#include <CLI/CLI.hpp>
#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/platform/cpu/cpu_info.h"

extern char** environ;

namespace sluice::bench {
namespace {

constexpr const char* kSmokeHelp =
    "Run everything once, with small sizes, as a test: bounds of time do not "
    "count";

// Smaller values are better in units of time and memory.
bool LessIsBetter(const std::string& unit) {
  return unit.find("/s") == std::string::npos;
}

double Ratio(const Row& row, double other) {
  return LessIsBetter(row.unit) ? other / row.value : row.value / other;
}

nlohmann::ordered_json OrNull(const std::optional<double>& number) {
  return number ? nlohmann::ordered_json(*number) : nullptr;
}

void PrintFigure(const Row& row) {
  std::printf("%-40s %14.4g %-10s  ", row.id.c_str(), row.value,
              row.unit.c_str());
}

void PrintBesidePeers(const Row& row) {
  double best = 0;
  for (const auto& [peer, value] : row.peers) {
    PrintFigure(row);
    std::printf("%.2f x %s, %.4g\n", Ratio(row, value), peer.c_str(), value);
    if (best == 0 || Ratio(row, value) < Ratio(row, best)) best = value;
  }
  if (!row.of_best || best == 0) return;
  PrintFigure(row);
  std::printf("%.2f of the best, at most %.4g\n", row.value / best,
              *row.of_best);
}

// Prints by how much a row misses its bound, and returns whether it does.
bool PrintMissed(const Row& row) {
  if (row.at_most && !(row.value <= *row.at_most)) {
    std::printf("MISSED: %s: %.4g %s, at most %.4g\n", row.id.c_str(),
                row.value, row.unit.c_str(), *row.at_most);
    return true;
  }
  if (!row.of_best || row.peers.empty()) return false;
  double best = row.peers.begin()->second;
  for (const auto& [peer, value] : row.peers) {
    if (Ratio(row, value) < Ratio(row, best)) best = value;
  }
  const double share = row.value / best;
  if (share <= *row.of_best) return false;
  std::printf("MISSED: %s: %.2f of the best, at most %.4g\n", row.id.c_str(),
              share, *row.of_best);
  return true;
}

// Runs a program and waits for it; returns whether it succeeded.
bool RunProgram(std::vector<std::string> words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(),
                   environ) != 0) {
    return false;
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

std::string Machine() {
  return platform::CpuName() + ", " +
         std::to_string(platform::AvailableCpus()) + " CPUs, " +
         std::string(platform::CpuInstructionSet());
}

}  // namespace

Options ParseOptions(int argc,
                     char** argv,
                     const std::string& about,
                     const std::vector<std::string>& groups) {
  Options options;
  CLI::App app(about);
  app.add_option("--json", options.json, "Write the rows to this file");
  app.add_flag("--peers", options.peers,
               "Measure other libraries, too; installs them on first use");
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
  app.add_flag("--smoke", *smoke, kSmokeHelp);
}

bool InitializeGoogleBenchmark(int argc, char** argv) {
  bool smoke = false;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--smoke") == 0) {
      smoke = true;
      continue;
    }
    if (std::strcmp(argv[i], "--help") == 0) {
      std::printf("--smoke: %s\n", kSmokeHelp);
    }
    argv[kept++] = argv[i];
  }
  benchmark::Initialize(&kept, argv);
  if (benchmark::ReportUnrecognizedArguments(kept, argv)) std::exit(1);
  return smoke;
}

namespace {

double Seconds(platform::FunctionRef<void()> call) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  call();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The median of the results of `measure`, called as often as in MedianSeconds.
double Median(double seconds, platform::FunctionRef<double()> measure) {
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
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

double MedianSeconds(double seconds, platform::FunctionRef<void()> call) {
  return Median(seconds, [&] { return Seconds(call); });
}

double MedianDifference(double seconds,
                        platform::FunctionRef<void()> first,
                        platform::FunctionRef<void()> second) {
  return Median(seconds, [&] {
    const double before = Seconds(first);
    return Seconds(second) - before;
  });
}

void Report::Add(Row row) {
  PrintFigure(row);
  if (row.limit && row.unit == "bytes") {
    std::printf("of at most %.4g", *row.limit);
  } else if (row.limit) {
    std::printf("%3.0f %% of the limit, %.4g", 100 * Ratio(row, *row.limit),
                *row.limit);
  }
  if (row.at_most) std::printf("of at most %.4g", *row.at_most);
  std::printf("\n");
  std::fflush(stdout);
  rows_.push_back(std::move(row));
}

void Report::LeaveOut(const std::string& id, const std::string& reason) {
  std::printf("%-40s left out: %s\n", id.c_str(), reason.c_str());
  left_out_[id] = reason;
}

void Report::MeasurePeers(const std::string& suite,
                          const std::vector<std::string>& arguments) {
  std::string file = "/tmp/sluice_peers_XXXXXX";
  const int descriptor = mkstemp(file.data());
  if (descriptor < 0) return;
  close(descriptor);
  std::vector<std::string> words = {
      "python3",    (BENCHMARKS_FOLDER "/peers/run.py"),
      suite,        "--build",
      PEERS_FOLDER, "--output",
      file,         "--"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  if (!RunProgram(words)) {
    std::fprintf(stderr, "the peers of %s could not be run\n", suite.c_str());
  }
  std::ifstream in(file);
  const auto figures = nlohmann::json::parse(in, nullptr, false);
  std::remove(file.c_str());
  if (!figures.is_object()) return;
  for (const auto& [library, reason] : figures.at("left_out").items()) {
    left_out_[library] = reason.get<std::string>();
  }
  const auto& rows = figures.at("rows");
  for (Row& row : rows_) {
    const auto found = rows.find(row.id);
    if (found == rows.end()) continue;
    for (const auto& [peer, value] : found->items()) {
      row.peers[peer] = value.get<double>();
    }
  }
}

int Report::Finish(const Options& options) const {
  bool missed = false;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Row& row : rows_) {
    rows.push_back({{"id", row.id},
                    {"unit", row.unit},
                    {"value", row.value},
                    {"limit", OrNull(row.limit)},
                    {"at_most", OrNull(row.at_most)},
                    {"of_best", OrNull(row.of_best)},
                    {"peers", nlohmann::ordered_json(row.peers)}});
    PrintBesidePeers(row);
  }
  for (const Row& row : rows_) {
    if (!std::isfinite(row.value)) {
      std::printf("WRONG: %s is not finite\n", row.id.c_str());
      missed = true;
    } else if (PrintMissed(row)) {
      missed = missed || row.exact || !options.smoke;
    }
  }
  if (options.json.empty()) return missed ? 1 : 0;
  const nlohmann::ordered_json all = {
      {"machine", Machine()}, {"rows", rows}, {"left_out", left_out_}};
  std::ofstream out(options.json);
  out << all.dump(1) << "\n";
  if (!out.flush()) {
    std::fprintf(stderr, "cannot write %s\n", options.json.c_str());
    return 1;
  }
  return missed ? 1 : 0;
}

}  // namespace sluice::bench
