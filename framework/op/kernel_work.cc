#include "sluice/framework/op/kernel_work.h"

#include <algorithm>
#include <cmath>

#include "sluice/framework/costs/cache_sizes.h"
#include "sluice/framework/costs/machine_figures.h"
#include "sluice/framework/op/op_schema.h"

namespace sluice {

namespace {

double OperationsPerSecond(DType dtype, const Throughput& operations) {
  switch (dtype) {
    case DType::kFloat64:
      return operations.float64;
    case DType::kBFloat16:
      return operations.bfloat16;
    case DType::kInt8:
    case DType::kUInt8:
      return operations.int8;
    default:
      return operations.float32;
  }
}

// Bandwidth of the first cache that `bytes` fill at most half, or of memory.
double OfLevel(double bytes, const Bandwidth& bandwidth) {
  const CacheSizes& caches = DataCacheSizes();
  const double twice = 2 * bytes;
  const auto fits = [twice](int64_t cache) {
    return twice <= static_cast<double>(cache);
  };
  return fits(caches.l1)   ? bandwidth.l1
         : fits(caches.l2) ? bandwidth.l2
         : fits(caches.l3) ? bandwidth.l3
                           : bandwidth.memory;
}

double BytesPerSecond(double bytes,
                      double threads,
                      const MachineFigures& machine) {
  if (threads <= 1) return OfLevel(bytes, machine.bytes);
  return std::min(OfLevel(bytes / threads, machine.bytes) * threads,
                  OfLevel(bytes, machine.bytes_all_threads));
}

// Returns the speed-up of several threads that share `parts` equal parts: three
// parts take two threads as long as four.
double UsefulThreads(double parts, int num_threads) {
  const double most = std::max(num_threads, 1);
  const double whole = std::max(std::floor(parts), 1.0);
  return std::isfinite(whole) ? whole / std::ceil(whole / most) : most;
}

}  // namespace

KernelWork DefaultKernelWork(const KernelQuery& query) {
  KernelWork work;
  size_t flat = 0;
  for (const ArgDef& def : query.schema.inputs()) {
    const size_t count = query.op.Input(def.name).size();
    for (size_t i = 0; i < count; ++i, ++flat) {
      if (def.traits.shape_only) continue;
      work.bytes += static_cast<double>(query.inputs[flat].numel()) *
                    static_cast<double>(SizeOf(query.input_dtypes[flat]));
    }
  }
  for (size_t i = 0; i < query.outputs.size(); ++i) {
    // Data-dependent sizes are not known yet.
    const DDim& dims = query.outputs[i];
    const auto elements = static_cast<double>(dims.known() ? dims.numel() : 0);
    work.flops += elements;
    work.bytes +=
        elements * static_cast<double>(SizeOf(query.output_dtypes[i]));
  }
  // Loops are not split into pieces that cost less than starting a thread.
  constexpr double kBytesOfAPiece = 32 << 10;
  work.max_threads = std::max(1.0, work.bytes / kBytesOfAPiece);
  return work;
}

WorkSeconds SecondsOf(const KernelWork& work,
                      const CountCosts& costs,
                      DType dtype,
                      const MachineFigures& machine,
                      int num_threads) {
  const double threads = UsefulThreads(work.max_threads, num_threads);
  double bytes = 0;
  for (size_t i = 0; i < costs.size(); ++i) {
    const WorkCount& count = kWorkCounts[i];
    const bool reads =
        count.unit == CostUnit::kBytes || count.unit == CostUnit::kPassBytes;
    if (reads) bytes += costs[i] * work.*count.count;
  }
  const double byte = 1 / BytesPerSecond(bytes, threads, machine);
  const double operation =
      1 / (OperationsPerSecond(dtype, machine.operations) * threads);
  const auto unit = [&](CostUnit of) {
    switch (of) {
      case CostUnit::kOperations:
        return operation;
      case CostUnit::kBytes:
      case CostUnit::kPassBytes:
        return byte;
      case CostUnit::kCalls:
        return machine.library_call;
      default:
        return 1e-9 / threads;
    }
  };
  WorkSeconds seconds;
  for (size_t i = 0; i < costs.size(); ++i) {
    seconds.counted[i] = work.*kWorkCounts[i].count * unit(kWorkCounts[i].unit);
  }
  seconds.fixed = machine.kernel_call;
  if (threads > 1) seconds.fixed += work.parallel_loops * machine.parallel_for;
  return seconds;
}

double PredictSeconds(const WorkSeconds& seconds, const CountCosts& costs) {
  double arithmetic = 0, bytes = 0, rest = seconds.fixed;
  for (size_t i = 0; i < costs.size(); ++i) {
    const CostUnit unit = kWorkCounts[i].unit;
    double& sum = unit == CostUnit::kOperations ? arithmetic
                  : unit == CostUnit::kBytes    ? bytes
                                                : rest;
    sum += costs[i] * seconds.counted[i];
  }
  return std::max(arithmetic, bytes) + rest;
}

MachineFigures DeviceFigures() {
  MachineFigures figures;
  figures.operations = {1e13, 5e12, 1e13, 1e13};
  figures.bytes = {5e11, 5e11, 5e11, 5e11};
  figures.bytes_all_threads = figures.bytes;
  figures.parallel_for = 0;
  figures.kernel_call = 5e-6;
  figures.library_call = 5e-6;
  return figures;
}

}  // namespace sluice
