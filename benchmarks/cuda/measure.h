#pragma once

#include <map>
#include <string>

#include "benchmarks/bench_util.h"
#include "benchmarks/cuda/device_timer.h"
#include "benchmarks/cuda/rows.h"

namespace sluice::bench {

// The device's limits, in the units of the rows.
struct DeviceLimits {
  std::map<int64_t, double> copy{};  // GB/s of copies on the device, by bytes
  double pairs = 0;                  // 0: not measured

  // Nothing if it was not measured. A multiply-add takes as long as an
  // addition, and a pair takes as long as two.
  std::optional<double> Of(const OpRow& row) const;
};

// Measures the rates of memory access (by the copies of the rows) and of pairs.
DeviceLimits MeasureLimits(DeviceTimer& timer);

// Checks the row's small op against the CPU's kernel (see DifferenceFromCPU for
// `tolerance`), measures it, and checks that its outputs are finite. On an
// emulated device, it measures the small op. Raises Error.
Row MeasureRow(const OpRow& row,
               const DeviceLimits& limits,
               double tolerance,
               DeviceTimer& timer);

// Runs the row's kernel once between the profiler's marks.
void ProfileRow(const OpRow& row, DeviceTimer& timer);

// A copy between host and device, or on the device.
enum class Direction : uint8_t { kToDevice, kToHost, kOnDevice };
std::string NameOf(Direction direction);  // "to_device"
struct CopyRow {
  std::string id;  // "cuda/copy_to_device.pinned/1MB"
  Direction direction = Direction::kToDevice;
  bool pinned = false;
  int64_t bytes = 0;
};
std::vector<CopyRow> CopyRows();
// Measures GB/s (a device copy reads and writes), and checks one copy.
Row MeasureCopy(const CopyRow& row, DeviceTimer& timer);

// The cost of an op with almost no work, in a chain of additions: host time of
// Executor::Run, and device time.
std::vector<Row> MeasureLaunches(DeviceTimer& timer);

}  // namespace sluice::bench
