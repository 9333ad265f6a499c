#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::bench {

// A figure of the device. Larger is better if the unit is "per second".
struct DeviceRow {
  std::string id;
  std::string unit;
  double value = 0;
  std::optional<double> limit{};    // the measured limit of the machine
  std::optional<double> seconds{};  // of one call
  std::string note{};
  // By output: the sum of its elements, each times 1 + (i mod 61) / 61, and the
  // sum of their absolute values, for comparison with another library.
  std::map<std::string, std::pair<double, double>> sums{};
};

// The figures of a run, printed immediately. The JSON file is also written
// every few seconds, so that a stopped run leaves its results.
class DeviceReport {
 public:
  // `file` is "" for none. `device` is Device::Description().
  DeviceReport(std::string file, std::string device, bool emulated)
      : file_(std::move(file)),
        device_(std::move(device)),
        emulated_(emulated) {}

  void Add(DeviceRow row);
  // Notes a row that cannot be measured here.
  void LeaveOut(const std::string& id, const std::string& reason);
  // Notes a failed row: the program ends with status 1.
  void Fail(const std::string& id, const std::string& reason);

  bool failed() const { return !failed_.empty(); }

  // Writes the input of bench_report.py:
  //   {"machine", "device", "emulated", "rows": [{"id", "unit", "value",
  //    "limit", "at_most", "of_best", "peers", "us", "note", "sums"}],
  //    "left_out": {row or op: reason}, "failed": {row: reason}}
  // Returns false if the file cannot be written, true if there is none.
  bool Write() const;

 private:
  using Clock = std::chrono::steady_clock;

  const std::string file_;
  const std::string device_;
  const bool emulated_;
  Clock::time_point written_ = Clock::now();
  std::vector<DeviceRow> rows_;
  std::map<std::string, std::string> left_out_;
  std::map<std::string, std::string> failed_;
};

}  // namespace sluice::bench
