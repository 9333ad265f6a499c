#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sluice/platform/function_ref.h"

namespace CLI {
class App;
}

// The shared parts of the benchmark programs: command line, timing, and the
// table that they print and write (bench_report.py for Python). For use on the
// main thread.
namespace sluice::bench {

// A figure, the machine's limit and figures of peers, all in the same unit.
struct Row {
  std::string id;    // "manhattan/128x128x128/f32/t2"
  std::string unit;  // "ns", "ms", "G pairs/s", "bytes"
  double value = 0;
  std::optional<double> limit{};  // the machine's limit
  std::map<std::string, double> peers{};
  // Bounds of the figure: absolute, and as a share of the best peer's.
  std::optional<double> at_most{};
  std::optional<double> of_best{};
  // The figure does not depend on speed: smoke runs check its bound, too.
  bool exact = false;
};

struct Options {
  std::string json;      // a file to write, or ""
  bool peers = false;    // whether to measure other libraries
  int threads = 2;       // for rows with several threads
  double seconds = 0.5;  // time of each figure
  std::string only;      // the selected group of rows, or ""
  // Only checks that everything works: 0 seconds, small sizes, no time bounds.
  bool smoke = false;
};

// Parses the command line. On --help or an error it prints and ends the
// program. If there are groups of rows, --only accepts one of their names.
Options ParseOptions(int argc,
                     char** argv,
                     const std::string& about,
                     const std::vector<std::string>& groups = {});

// Adds --smoke to a command line that ParseOptions does not read.
void AddSmokeOption(CLI::App& app, bool* smoke);

// Parses the command line of a program with Google Benchmark, and --smoke. Ends
// the program on --help or an error. Returns whether it is a smoke run.
bool InitializeGoogleBenchmark(int argc, char** argv);

// The median of repeated calls, in seconds: as many as fit into `seconds`, from
// 7 to 20,000, after two warm-up calls. With 0 seconds there is one call.
double MedianSeconds(double seconds, platform::FunctionRef<void()> call);

// The median of how much longer `second` takes than `first`, in seconds. They
// take turns, since clock rates change meanwhile.
double MedianDifference(double seconds,
                        platform::FunctionRef<void()> first,
                        platform::FunctionRef<void()> second);

class Report {
 public:
  // Adds the row and prints it.
  void Add(Row row);

  // Notes why a row cannot be measured here.
  void LeaveOut(const std::string& id, const std::string& reason);

  // Measures the suite's peers (benchmarks/peers/<suite>_*.py) with these
  // arguments, and adds their figures to the rows with the same id. Libraries
  // that fail are left out, with the reason.
  void MeasurePeers(const std::string& suite,
                    const std::vector<std::string>& arguments);

  // Prints the rows that have peers, with ratios, and writes the JSON file:
  //   {"machine": ..., "rows": [{"id", "unit", "value", "limit", "at_most",
  //    "of_best", "peers"}], "left_out": {row or library: reason}}
  // Missing limits are null. Returns main's exit status: 1 if a figure is not
  // finite or misses its bound, `at_most` or `of_best`, which is printed. In a
  // smoke run only bounds of exact rows count.
  int Finish(const Options& options) const;

 private:
  std::vector<Row> rows_;
  std::map<std::string, std::string> left_out_;
};

}  // namespace sluice::bench
