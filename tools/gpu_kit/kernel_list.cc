#include "tools/gpu_kit/kernel_list.h"

#include <sstream>

namespace sluice::gpu_kit {

Ops OpsWithKernels(Kit& kit, const std::string& mode) {
  const ProcessResult listed =
      kit.Run({kit.Path("bin/sluice_kernel_outputs"), "--list"}, 60, mode);
  Ops ops;
  std::istringstream lines(listed.output);
  for (std::string op; std::getline(lines, op);) {
    ops.push_back(op);
  }
  if (listed.ok() && !ops.empty()) return ops;
  kit.AddItem({"list of the CUDA kernels, " + mode,
               Status::kFailed,
               listed.seconds,
               listed.Ending() + "\n" + LastLines(listed.output),
               {},
               listed.command});
  return {};
}

}  // namespace sluice::gpu_kit
