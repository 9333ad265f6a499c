#pragma once

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

// The figures of a run, printed as they come.
class DeviceReport {
 public:
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
  // False when the file cannot be written.
  bool Write(const std::string& file,
             const std::string& device,
             bool emulated) const;

 private:
  std::vector<DeviceRow> rows_;
  std::map<std::string, std::string> left_out_;
  std::map<std::string, std::string> failed_;
};

}  // namespace sluice::bench
