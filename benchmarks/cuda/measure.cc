#include "benchmarks/cuda/measure.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "benchmarks/cuda/device_kernels.h"
#include "benchmarks/cuda/device_op.h"

namespace sluice::bench {

namespace {

// The kernel of a row with everything that it needs.
struct Prepared {
  OneOpProgram program;
  std::unique_ptr<DeviceOp> forward;   // of a gradient; ran once
  std::unique_ptr<DeviceOp> gradient;  // or null

  DeviceOp& op() { return gradient == nullptr ? *forward : *gradient; }
};

// The op to measure: a small one on an emulated device.
const OpSpec& SpecFor(const OpRow& row, const DeviceTimer& timer) {
  constexpr double kMostEmulated = 32 << 10;
  const bool fits = BytesOf(DescribeForward(row.forward)) <= kMostEmulated;
  return timer.emulated() && !fits ? row.small : row.forward;
}

Prepared Prepare(const OpRow& row, const OpSpec& spec, DeviceTimer& timer) {
  auto& device = timer.context();
  const OneOpProgram forward = DescribeForward(spec);
  Prepared prepared;
  prepared.forward = std::make_unique<DeviceOp>(
      device, forward, MakeInputs(device, spec, forward));
  prepared.program = Measured(row, forward);
  if (row.gradient.empty()) return prepared;
  prepared.forward->Compute();
  prepared.forward->Wait();
  prepared.gradient = std::make_unique<DeviceOp>(
      device, prepared.program,
      MakeGradientInputs(device, *prepared.forward, prepared.program));
  return prepared;
}

void CheckSmall(const OpRow& row, double tolerance, DeviceTimer& timer) {
  Prepared small = Prepare(row, row.small, timer);
  small.op().PoisonOutputs();
  small.op().Compute();
  small.op().Wait();
  const std::string difference =
      DifferenceFromCPU(small.program, small.op(), tolerance);
  if (difference.empty()) return;
  Raise(ErrorCode::kInternal, "bench.wrong_result", "{}: {}", row.id,
        difference);
}

// Runs the kernel once and checks that all its outputs are finite.
void CheckFinite(DeviceOp& op, DeviceTimer& timer) {
  op.PoisonOutputs();
  op.Compute();
  op.Wait();
  for (const auto& [name, output] : op.outputs()) {
    if (output.dtype() != DType::kFloat32) continue;
    const int64_t bad = CountNotFinite(timer.context(), output);
    if (bad == 0) continue;
    Raise(ErrorCode::kInternal, "bench.not_finite",
          "{} of {} elements of {} were not written, or are not "
          "finite",
          bad, output.numel(), name);
  }
}

constexpr int64_t kMostSummed = 1 << 20;

std::map<std::string, std::pair<double, double>> SumsOf(const DeviceOp& op) {
  std::map<std::string, std::pair<double, double>> sums;
  for (const auto& [name, output] : op.outputs()) {
    if (output.dtype() != DType::kFloat32 || output.numel() > kMostSummed) {
      continue;
    }
    double sum = 0, absolute = 0;
    int64_t index = 0;
    for (const float value : output.ToVector<float>()) {
      const double weight = 1 + static_cast<double>(index++ % 61) / 61;
      sum += weight * value;
      absolute += std::abs(weight * value);
    }
    sums[name] = {sum, absolute};
  }
  return sums;
}

double Scale(Bound bound) {
  return bound == Bound::kFlops ? 1e-12 : 1e-9;
}

}  // namespace

std::optional<double> DeviceLimits::Of(const OpRow& row) const {
  if (row.bound == Bound::kMemory) {
    const auto found = copy.find(row.size);
    if (found == copy.end()) return std::nullopt;
    return found->second;
  }
  if (pairs == 0) return std::nullopt;
  if (row.bound == Bound::kFlops) return 4 * pairs * 1e-3;
  // The gradient uses the sign instead.
  if (row.gradient.empty()) return pairs;
  return std::nullopt;
}

DeviceLimits MeasureLimits(DeviceTimer& timer) {
  DeviceLimits limits;
  for (const CopyRow& row : CopyRows()) {
    if (row.direction != Direction::kOnDevice) continue;
    limits.copy[row.bytes] = MeasureCopy(row, timer).value;
  }
  Tensor out;
  auto& device = timer.context();
  float* sum = out.mutable_data<float>({1}, PlaceKey(device.GetPlace()));
  double pairs = 0;
  const double seconds = timer.Median(
      [&] {
        pairs = EnqueuePairs(device, timer.multiprocessors(), timer.emulated(),
                             sum);
      },
      [] {});
  limits.pairs = 1e-9 * pairs / seconds;
  return limits;
}

Row MeasureRow(const OpRow& row,
               const DeviceLimits& limits,
               double tolerance,
               DeviceTimer& timer) {
  if (row.check_small) CheckSmall(row, tolerance, timer);
  const OpSpec& spec = SpecFor(row, timer);
  Prepared prepared = Prepare(row, spec, timer);
  DeviceOp& op = prepared.op();
  CheckFinite(op, timer);
  Row figure{.id = row.id,
             .unit = UnitOf(row.bound),
             .limit = limits.Of(row),
             .note = row.note};
  // The sums are valid only for the row's own op.
  if (&spec == &row.forward) figure.sums = SumsOf(op);
  figure.seconds =
      timer.Median([&] { op.Compute(); }, [&] { op.ReleaseTemporaries(); });
  const double work = timer.emulated() ? BytesOf(prepared.program) : row.work;
  figure.value = Scale(row.bound) * work / *figure.seconds;
  return figure;
}

void ProfileRow(const OpRow& row, DeviceTimer& timer) {
  Prepared prepared = Prepare(row, SpecFor(row, timer), timer);
  DeviceOp& op = prepared.op();
  op.Compute();
  timer.FlushL2();
  op.Wait();
  DeviceTimer::StartProfiler();
  op.Compute();
  op.Wait();
  DeviceTimer::StopProfiler();
}

}  // namespace sluice::bench
