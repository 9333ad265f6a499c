#include "benchmarks/lab/mutant_rows.h"

#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/laboratory/kernel_check.h"
#include "sluice/framework/measure/measure_clock.h"
#include "sluice/framework/op/kernel_library.h"
#include "sluice/framework/plan/candidates.h"

namespace sluice::bench {
namespace {

using framework::KernelCheckOptions;
using framework::KernelDef;
using framework::KernelReport;
using framework::Registry;

// Of Sluice's kernels a smoke run checks every so many groups.
constexpr int kSmokeStep = 40;

// By op and dtype, so that kernels share examples and references.
using Groups = std::map<std::pair<std::string, platform::DType>,
                        std::vector<const KernelDef*>>;

Groups OwnKernels() {
  Groups groups;
  for (const std::string& op : Registry::Global().OpNames()) {
    framework::LoadLibraries(op, {}, Registry::Global());
    for (const KernelDef* kernel : Registry::Global().Kernels(op)) {
      if (kernel->key.place != platform::PlaceKind::kCPU) continue;
      groups[{op, kernel->key.dtype}].push_back(kernel);
    }
  }
  return groups;
}

// How many of the kernels are wrong; says why.
int CountWrong(const std::vector<const KernelDef*>& kernels,
               const KernelCheckOptions& options,
               int* checked) {
  int wrong = 0;
  for (const KernelReport& report : framework::CheckKernels(kernels, options)) {
    *checked += report.examples > 0 ? 1 : 0;
    if (report.mistakes.empty()) continue;
    ++wrong;
    const auto& mistake = report.mistakes.front();
    std::fprintf(stderr, "%s with %s: %s: %s\n",
                 ToString(*report.kernel).c_str(), mistake.signature.c_str(),
                 mistake.check.c_str(), mistake.message.c_str());
  }
  return wrong;
}

bool IsCaught(const KernelDef& kernel) {
  const KernelDef* const pointer = &kernel;
  KernelCheckOptions options;
  options.most_failing = 1;
  const auto reports = framework::CheckKernels({&pointer, 1}, options);
  if (!reports[0].mistakes.empty()) return true;
  std::fprintf(stderr, "%s is taken to be right, by %d examples\n",
               ToString(kernel).c_str(), reports[0].examples);
  return false;
}

}  // namespace

void AddMutantRows(const Options& options, Report& report) {
  const double begin = framework::ClockSeconds();
  KernelCheckOptions quick;
  quick.most_others = 12;
  quick.threads = {2};
  int alarms = 0;
  int checked = 0;
  int group = 0;
  for (const auto& [unused, kernels] : OwnKernels()) {
    // Tests check them all.
    if (options.smoke && group++ % kSmokeStep != 0) continue;
    alarms += CountWrong(kernels, quick, &checked);
  }
  const int own = checked;
  int missed = 0;
  int mutants = 0;
  for (const KernelDef* kernel :
       framework::LoadKernelLibrary(SLUICE_WRONG_KERNELS).kernels) {
    if (kernel->variant == "right") {
      alarms += CountWrong(
          {kernel}, options.smoke ? quick : KernelCheckOptions{}, &checked);
      continue;
    }
    // Races show only where two processors have nothing else to do.
    if (options.smoke && kernel->variant == "race") continue;
    ++mutants;
    missed += IsCaught(*kernel) ? 0 : 1;
  }
  std::fprintf(stderr,
               "%d of %d wrong kernels caught, %d of Sluice's checked, in %.1f "
               "s\n",
               mutants - missed, mutants, own,
               framework::ClockSeconds() - begin);
  report.Add({.id = "lab/mutants_caught",
              .unit = "missed of " + std::to_string(mutants),
              .value = static_cast<double>(missed),
              .at_most = 0,
              .exact = true});
  report.Add({.id = "lab/false_alarms",
              .unit = "of " + std::to_string(checked),
              .value = static_cast<double>(alarms),
              .at_most = 0,
              .exact = true});
}

}  // namespace sluice::bench
