#pragma once

#include <map>
#include <string>

#include "benchmarks/cuda/device_timer.h"
#include "benchmarks/cuda/report.h"
#include "benchmarks/cuda/rows.h"

namespace sluice::bench {

// What the device can do, in the units of the rows.
struct DeviceLimits {
  std::map<int64_t, double> copy{};  // GB/s of a copy on the device, by bytes
  double pairs = 0;                  // 0: not measured

  // Nothing where it was not measured. A multiplication with addition takes as
  // long as an addition, of which a pair takes two.
  std::optional<double> Of(const OpRow& row) const;
};

// The rates of reading and writing (by the same copies that have rows) and of
// pairs.
DeviceLimits MeasureLimits(DeviceTimer& timer);

// Checks the row's small op against the CPU's kernel (see DifferenceFromCPU for
// `tolerance`), measures it, and checks
// that what it wrote is finite. Where the device is emulated, the small op is
// also what is measured. Raises platform::Error.
DeviceRow MeasureRow(const OpRow& row,
                     const DeviceLimits& limits,
                     double tolerance,
                     DeviceTimer& timer);

// Runs the row's kernel once between the profiler's marks.
void ProfileRow(const OpRow& row, DeviceTimer& timer);

// A copy between host and device, or on the device.
enum class Direction : uint8_t { kToDevice, kToHost, kOnDevice };
struct CopyRow {
  std::string id;  // "cuda/copy_to_device.pinned/1MB"
  Direction direction = Direction::kToDevice;
  bool pinned = false;
  int64_t bytes = 0;
};
std::vector<CopyRow> CopyRows();
// GB/s, where a copy on the device reads and writes; checked once.
DeviceRow MeasureCopy(const CopyRow& row, DeviceTimer& timer);

// What an op costs when its work is next to nothing, in a chain of additions:
// the host's time of Executor::Run, and the device's.
std::vector<DeviceRow> MeasureLaunches(DeviceTimer& timer);

}  // namespace sluice::bench
