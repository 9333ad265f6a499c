#include "sluice/framework/op/kernel_work.h"

#include <algorithm>
#include <cmath>

#include "sluice/framework/costs/cache_sizes.h"
#include "sluice/framework/costs/machine_figures.h"
#include "sluice/framework/op/op_schema.h"

namespace sluice::framework {

namespace {

using platform::DType;

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

// A move is a load and a store, one each cycle, at DerivedFigures' clock rate.
constexpr double kSecondsOfAMove = 1 / 2.5e9;

}  // namespace

KernelWork DefaultKernelWork(const KernelQuery& query) {
  KernelWork work;
  // Assumes vectorised code with loads and stores between the arithmetic.
  work.efficiency = 0.25;
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

double PredictSeconds(const KernelWork& work,
                      platform::DType dtype,
                      const MachineFigures& machine,
                      int num_threads) {
  const double threads = UsefulThreads(work.max_threads, num_threads);
  const double bytes_per_second =
      BytesPerSecond(work.bytes + work.extra_bytes, threads, machine);
  const double arithmetic =
      work.flops / (OperationsPerSecond(dtype, machine.operations) *
                    work.efficiency * threads);
  double seconds = machine.kernel_call +
                   work.library_calls * machine.library_call +
                   std::max(arithmetic, work.bytes / bytes_per_second) +
                   work.extra_bytes / bytes_per_second +
                   work.moves * kSecondsOfAMove / threads;
  if (threads > 1) seconds += work.parallel_loops * machine.parallel_for;
  return seconds;
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

}  // namespace sluice::framework
