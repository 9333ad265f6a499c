#include "benchmarks/cuda/report.h"

#include <cstdio>
#include <fstream>

#include <nlohmann/json.hpp>

#include "sluice/platform/cpu/cpu_info.h"

namespace sluice::bench {

using nlohmann::ordered_json;

void DeviceReport::Add(DeviceRow row) {
  std::printf("%-48s %12.4g %-10s", row.id.c_str(), row.value,
              row.unit.c_str());
  if (row.limit) {
    std::printf(" %3.0f %% of the limit, %.4g", 100 * row.value / *row.limit,
                *row.limit);
  }
  if (!row.note.empty()) std::printf("  (%s)", row.note.c_str());
  std::printf("\n");
  std::fflush(stdout);
  rows_.push_back(std::move(row));
  if (Clock::now() - written_ < std::chrono::seconds(5)) return;
  written_ = Clock::now();
  static_cast<void>(Write());  // the last write reports failure
}

void DeviceReport::LeaveOut(const std::string& id, const std::string& reason) {
  std::printf("%-48s left out: %s\n", id.c_str(), reason.c_str());
  left_out_[id] = reason;
}

void DeviceReport::Fail(const std::string& id, const std::string& reason) {
  std::printf("%-48s FAILED: %s\n", id.c_str(), reason.c_str());
  std::fflush(stdout);
  failed_[id] = reason;
}

bool DeviceReport::Write() const {
  if (file_.empty()) return true;
  ordered_json rows = ordered_json::array();
  for (const DeviceRow& row : rows_) {
    ordered_json json = {{"id", row.id},
                         {"unit", row.unit},
                         {"value", row.value},
                         {"limit", nullptr},
                         {"at_most", nullptr},
                         {"of_best", nullptr},
                         {"peers", ordered_json::object()}};
    if (row.limit) json["limit"] = *row.limit;
    if (row.seconds) json["us"] = 1e6 * *row.seconds;
    if (!row.note.empty()) json["note"] = row.note;
    for (const auto& [output, sum] : row.sums) {
      json["sums"][output] = {sum.first, sum.second};
    }
    rows.push_back(std::move(json));
  }
  const ordered_json all = {
      {"machine", platform::CpuName() + ", " +
                      std::to_string(platform::AvailableCpus()) + " CPUs, " +
                      device_},
      {"device", device_},
      {"emulated", emulated_},
      {"rows", rows},
      {"left_out", left_out_},
      {"failed", failed_}};
  std::ofstream out(file_);
  out << all.dump(1) << "\n";
  if (out.flush()) return true;
  std::fprintf(stderr, "cannot write %s\n", file_.c_str());
  return false;
}

}  // namespace sluice::bench
