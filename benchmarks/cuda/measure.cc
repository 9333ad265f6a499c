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
  std::unique_ptr<DeviceOp> forward;   // of a gradient; ran once
  std::unique_ptr<DeviceOp> gradient;  // or null

  DeviceOp& op() { return gradient == nullptr ? *forward : *gradient; }
};

// The op to measure: a small one on an emulated device.
const OpExample& ExampleFor(const OpRow& row, const DeviceTimer& timer) {
  constexpr double kMostEmulated = 32 << 10;
  const bool fits = BytesOf(DescribeForward(row.forward)) <= kMostEmulated;
  return timer.emulated() && !fits ? row.small : row.forward;
}

Prepared Prepare(const OpRow& row,
                 const OpExample& example,
                 DeviceTimer& timer) {
  auto& device = timer.context();
  Tensors tensors = MakeInputs(device, example);
  Prepared prepared;
  prepared.forward =
      std::make_unique<DeviceOp>(device, MakeForward(example, tensors));
  if (row.gradient.empty()) return prepared;
  prepared.forward->run().Run();
  tensors.merge(prepared.forward->outputs());
  prepared.gradient = std::make_unique<DeviceOp>(
      device, MakeGradient(device, prepared.forward->op(), row.gradient,
                           std::move(tensors)));
  return prepared;
}

void CheckSmall(const OpRow& row, double tolerance, DeviceTimer& timer) {
  Prepared small = Prepare(row, row.small, timer);
  small.op().RunOnPoison();
  const std::string difference = small.op().DifferenceFromCPU(tolerance);
  if (difference.empty()) return;
  Raise(ErrorCode::kInternal, "bench.wrong_result", "{}: {}", row.id,
        difference);
}

// Runs the kernel once and checks that all its outputs are finite.
void CheckFinite(DeviceOp& op, DeviceTimer& timer) {
  op.RunOnPoison();
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

}  // namespace

std::optional<double> DeviceLimits::Of(const OpRow& row) const {
  if (row.unit == "GB/s") {
    const auto found = copy.find(row.size);
    if (found == copy.end()) return std::nullopt;
    return found->second;
  }
  if (pairs == 0) return std::nullopt;
  if (row.unit == "TFLOP/s") return 4 * pairs * 1e-3;
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
  const OpExample& example = ExampleFor(row, timer);
  Prepared prepared = Prepare(row, example, timer);
  DeviceOp& op = prepared.op();
  CheckFinite(op, timer);
  Row figure{.id = row.id,
             .unit = row.unit,
             .limit = limits.Of(row),
             .note = row.note};
  // The sums are valid only for the row's own op.
  if (&example == &row.forward) figure.sums = SumsOf(op);
  figure.seconds = timer.Median([&] { op.run().Enqueue(); },
                                [&] { op.run().ReleaseTemporaries(); });
  const double work = timer.emulated() ? BytesOf(op.op()) : row.work;
  figure.value =
      (row.unit == "TFLOP/s" ? 1e-12 : 1e-9) * work / *figure.seconds;
  return figure;
}

void ProfileRow(const OpRow& row, DeviceTimer& timer) {
  Prepared prepared = Prepare(row, ExampleFor(row, timer), timer);
  KernelRun& run = prepared.op().run();
  run.Enqueue();
  timer.FlushL2();
  timer.context().Wait();
  run.ReleaseTemporaries();
  DeviceTimer::StartProfiler();
  run.Run();
  DeviceTimer::StopProfiler();
}

}  // namespace sluice::bench
