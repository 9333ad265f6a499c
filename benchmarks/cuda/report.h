#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::bench {

// A figure of the device. Larger is better where the unit is "per second".
struct DeviceRow {
  std::string id;
  std::string unit;
  double value = 0;
  std::optional<double> limit{};    // what the machine could do, measured
  std::optional<double> seconds{};  // of one call
  std::string note{};
  // By output: the sum of its elements, each times 1 + (i mod 61) / 61, and
  // the sum of their absolute values. For another library to compare with.
  std::map<std::string, std::pair<double, double>> sums{};
};

// The figures of a run, printed as they come. The JSON file is written every
// few seconds, too, so that a run that is stopped leaves what it has.
class DeviceReport {
 public:
  // `file`: "" for none. `device` is Device::Description().
  DeviceReport(std::string file, std::string device, bool emulated)
      : file_(std::move(file)),
        device_(std::move(device)),
        emulated_(emulated) {}

  void Add(DeviceRow row);
  // Cannot be measured here.
  void LeaveOut(const std::string& id, const std::string& reason);
  // Went wrong: the program ends with status 1.
  void Fail(const std::string& id, const std::string& reason);

  bool failed() const { return !failed_.empty(); }

  // Writes what bench_report.py reads:
  //   {"machine", "device", "emulated", "rows": [{"id", "unit", "value",
  //    "limit", "at_most", "of_best", "peers", "us", "note", "sums"}],
  //    "left_out": {row or op: reason}, "failed": {row: reason}}
  // False when the file cannot be written; true where there is none.
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
