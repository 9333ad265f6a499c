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

// What the benchmark programs share: command line, timing, and the table that
// they print and write (bench_report.py has it for Python). For use on the main
// thread.
namespace sluice::bench {

// One figure beside what the machine could do and what others do, all in the
// same unit.
struct Row {
  std::string id;    // "manhattan/128x128x128/f32/t2"
  std::string unit;  // "ns", "ms", "G pairs/s", "bytes"
  double value = 0;
  std::optional<double> limit{};  // what the machine could do
  std::map<std::string, double> peers{};
  // What the figure must keep to, and the same as a share of the best peer's.
  std::optional<double> at_most{};
  std::optional<double> of_best{};
  // The figure does not depend on speed: a smoke run keeps to the bound, too.
  bool exact = false;
};

struct Options {
  std::string json;      // a file to write, or ""
  bool peers = false;    // measure the other libraries, too
  int threads = 2;       // of the rows that are not for one thread
  double seconds = 0.5;  // that each figure may take
  std::string only;      // the group of rows that is asked for, or ""
  // Only see that everything works: 0 seconds, small sizes, no bounds of time.
  bool smoke = false;
};

// Parses the command line. On --help or a mistake it prints and ends the
// program. Where there are groups of rows, --only takes one of their names.
Options ParseOptions(int argc,
                     char** argv,
                     const std::string& about,
                     const std::vector<std::string>& groups = {});

// Adds --smoke to a command line that ParseOptions does not read.
void AddSmokeOption(CLI::App& app, bool* smoke);

// Reads the command line of a program that Google Benchmark runs, and --smoke.
// Ends the program on --help or a mistake. True in a smoke run.
bool InitializeGoogleBenchmark(int argc, char** argv);

// The median of repeated calls, in seconds: as many as fit into `seconds`,
// at least 7 and at most 20,000, after two that do not count. With 0 seconds
// there is one call.
double MedianSeconds(double seconds, platform::FunctionRef<void()> call);

// The median of how much longer `second` takes than `first`, in seconds; they
// take turns, since clocks change while we measure.
double MedianDifference(double seconds,
                        platform::FunctionRef<void()> first,
                        platform::FunctionRef<void()> second);

class Report {
 public:
  // Prints the row, too.
  void Add(Row row);

  // Says why a row cannot be measured here.
  void LeaveOut(const std::string& id, const std::string& reason);

  // Measures the suite's peers (benchmarks/peers/<suite>_*.py), with the
  // arguments given to each, and gives their figures to the rows of the same
  // id. Libraries that fail are left out, with the reason.
  void MeasurePeers(const std::string& suite,
                    const std::vector<std::string>& arguments);

  // Prints the rows that have peers, with ratios, and writes the JSON file:
  //   {"machine": ..., "rows": [{"id", "unit", "value", "limit", "at_most",
  //    "of_best", "peers"}], "left_out": {row or library: reason}}
  // Limits are null where there are none. Returns main's exit status: 1 where
  // a figure is not finite or misses its bound, `at_most` or `of_best`; prints
  // by how much. In a smoke run only bounds of exact rows count.
  int Finish(const Options& options) const;

 private:
  std::vector<Row> rows_;
  std::map<std::string, std::string> left_out_;
};

}  // namespace sluice::bench
