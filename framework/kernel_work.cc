#include "sluice/framework/kernel_work.h"

#include <algorithm>
#include <cmath>

#include <unistd.h>

#include "sluice/framework/measure/machine_figures.h"

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

double CacheBytes(int name, double otherwise) {
  const auto bytes = static_cast<double>(sysconf(name));
  return bytes > 0 ? bytes : otherwise;
}

// Of the cache that holds so much, or of the memory.
double OfLevel(double bytes, const Bandwidth& bandwidth) {
  static const double kL1 = CacheBytes(_SC_LEVEL1_DCACHE_SIZE, 32 << 10);
  static const double kL2 = CacheBytes(_SC_LEVEL2_CACHE_SIZE, 1 << 20);
  static const double kL3 = CacheBytes(_SC_LEVEL3_CACHE_SIZE, 16 << 20);
  return bytes <= kL1   ? bandwidth.l1
         : bytes <= kL2 ? bandwidth.l2
         : bytes <= kL3 ? bandwidth.l3
                        : bandwidth.memory;
}

double BytesPerSecond(double bytes,
                      double threads,
                      const MachineFigures& machine) {
  if (threads <= 1) return OfLevel(bytes, machine.bytes);
  return std::min(OfLevel(bytes / threads, machine.bytes) * threads,
                  OfLevel(bytes, machine.bytes_all_threads));
}

}  // namespace

KernelWork DefaultKernelWork(const KernelQuery& query) {
  KernelWork work;
  // Vectorised, but with loads and stores between the arithmetic.
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
    const auto elements = static_cast<double>(query.outputs[i].numel());
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
  const double threads = std::clamp(std::floor(work.max_threads), 1.0,
                                    static_cast<double>(num_threads));
  const double bytes_per_second = BytesPerSecond(work.bytes, threads, machine);
  const double arithmetic =
      work.flops / (OperationsPerSecond(dtype, machine.operations) *
                    work.efficiency * threads);
  double seconds = machine.kernel_call +
                   work.library_calls * machine.library_call +
                   std::max(arithmetic, work.bytes / bytes_per_second) +
                   work.extra_bytes / bytes_per_second;
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
