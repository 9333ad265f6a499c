#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/values/tensor.h"
#include "sluice/platform/function_ref.h"

namespace CLI {
class App;
}

// The shared parts of the benchmark programs: command line, timing, and the
// table that they print and write (bench_report.py for Python). For use on the
// main thread.
namespace sluice::bench {

// A figure, the machine's limit and figures of peers, all in the same unit.
// Larger is better if the unit is "per second".
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
  std::optional<double> seconds{};  // of one call
  std::string note{};
  // By output: the sum of its elements, each times 1 + (i mod 61) / 61, and the
  // sum of their absolute values, for comparison with another library.
  std::map<std::string, std::pair<double, double>> sums{};
};

struct Options {
  std::string json;      // a file to write, or ""
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

// The median of repeated calls, in seconds: as many as fit into `seconds`, from
// 7 to 20,000, after two warm-up calls. With 0 seconds there is one call.
double MedianSeconds(double seconds, FunctionRef<void()> call);

// The median of how much longer `second` takes than `first`, in seconds. They
// take turns, since clock rates change meanwhile.
double MedianDifference(double seconds,
                        FunctionRef<void()> first,
                        FunctionRef<void()> second);

// The element in the middle. `values` has elements.
double MedianOf(std::vector<double> values);

// A float32 tensor of the op uniform_random or gaussian_random.
Tensor RandomTensor(const std::string& op, const DDim& dims, int64_t seed);

// The rows of a program, printed immediately.
class Report {
 public:
  Report() = default;
  // The figures of a device. `file`, "" for none, is also written every few
  // seconds, so that a stopped run leaves its results. `device` is
  // Device::Description().
  Report(std::string file, std::string device, bool emulated)
      : file_(std::move(file)),
        device_(std::move(device)),
        emulated_(emulated) {}

  void Add(Row row);

  // Notes why a row cannot be measured here.
  void LeaveOut(const std::string& id, const std::string& reason);

  // Notes a failed row: the program ends with status 1.
  void Fail(const std::string& id, const std::string& reason);
  bool failed() const { return !failed_.empty(); }

  // The suite of peers of the rows (benchmarks/peers/<suite>_*.py) and its
  // arguments, for bench_report.py.
  void SetPeers(std::string suite, std::vector<std::string> arguments) {
    suite_ = std::move(suite);
    peer_arguments_ = std::move(arguments);
  }

  // Writes the JSON file:
  //   {"machine": ..., "rows": [{"id", "unit", "value", "limit", "at_most",
  //    "of_best", "peers"}], "left_out": {row or library: reason}}
  // Missing limits are null. A row also has "us", "note" and "sums", and the
  // file "device", "emulated", "failed" and "suite", if there are such. Returns
  // false if it cannot be written, true if `file` is "".
  bool Write(const std::string& file) const;

  // Writes the JSON file of the options. Returns main's exit status: 1 if a
  // figure is not finite or above `at_most`, which is printed. In a smoke run
  // only bounds of exact rows count.
  int Finish(const Options& options) const;

 private:
  using Clock = std::chrono::steady_clock;

  std::string file_;
  std::string device_;
  bool emulated_ = false;
  Clock::time_point written_ = Clock::now();
  std::vector<Row> rows_;
  std::map<std::string, std::string> left_out_;
  std::map<std::string, std::string> failed_;
  std::string suite_;
  std::vector<std::string> peer_arguments_;
};

}  // namespace sluice::bench
