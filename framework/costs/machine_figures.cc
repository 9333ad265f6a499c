#include "sluice/framework/costs/machine_figures.h"

#include <algorithm>
#include <cmath>

#include "sluice/framework/costs/machine.h"
#include "sluice/platform/cpu/cpu_info.h"

namespace sluice {

MachineFigures DerivedFigures(std::string_view instruction_set, int threads) {
  constexpr double kClock = 2.5e9;
  const bool avx512 = instruction_set.starts_with("AVX3");
  const bool avx512_dot = avx512 && instruction_set != "AVX3";
  const bool avx512_bf16 =
      instruction_set == "AVX3_ZEN4" || instruction_set == "AVX3_SPR";
  const bool avx2 = instruction_set == "AVX2";
  // 12 is between processors with one and with two 16-wide units for products.
  const double lanes = avx512 ? 12 : avx2 ? 8 : 4;
  const bool fused = avx512 || avx2 || instruction_set.starts_with("NEON") ||
                     instruction_set.starts_with("SVE");
  MachineFigures figures;
  figures.machine = MachineId().text;
  figures.threads = std::max(threads, 1);
  figures.operations.float32 = kClock * lanes * (fused ? 4 : 2);
  figures.operations.float64 = figures.operations.float32 / 2;
  figures.operations.int8 = figures.operations.float32 * (avx512_dot ? 4 : 1.5);
  figures.operations.bfloat16 =
      figures.operations.float32 * (avx512_bf16 ? 2 : 0.6);
  const double n = figures.threads;
  figures.bytes = {.l1 = kClock * lanes * 8,
                   .l2 = kClock * lanes * 4,
                   .l3 = 25e9,
                   .memory = 12e9};
  figures.bytes_all_threads = {.l1 = figures.bytes.l1 * n,
                               .l2 = figures.bytes.l2 * n,
                               .l3 = figures.bytes.l3 * std::pow(n, 0.9),
                               .memory = figures.bytes.memory * std::sqrt(n)};
  figures.parallel_for = n == 1 ? 10e-9 : 2e-6 + 0.1e-6 * n;
  figures.kernel_call = 50e-9;
  return figures;
}

MachineFigures DerivedFigures() {
  return DerivedFigures(CpuInstructionSet(), AvailableCpus());
}

}  // namespace sluice
