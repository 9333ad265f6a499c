#include "tests/operators/harness/kernel_choice.h"

#include <stdexcept>
#include <utility>

#include "tests/testing/cuda_device.h"
#include "tests/testing/program_option.h"

#include "sluice/platform/cpu/cpu_info.h"
#include "sluice/platform/plugin/kernel_module.h"

namespace sluice::testing {

namespace {

std::optional<PlaceKind> chosen;

const ProgramOption kKernels(
    "kernels", [](std::string_view value) -> std::string {
      for (const auto kind :
           {PlaceKind::kCPU, PlaceKind::kCUDA, PlaceKind::kFPGA}) {
        if (value != ToString(kind)) continue;
        chosen = kind;
        return "";
      }
      return "expected --kernels=cpu, --kernels=cuda or --kernels=fpga";
    });

// The kernels of CUDA are registered wherever the module is built.
const std::string& WhyNoCUDAHere() {
  static const std::string reason = WhyNoCUDA();
  return reason;
}

}  // namespace

std::optional<PlaceKind> ChooseKernels(std::optional<PlaceKind> kind) {
  return std::exchange(chosen, kind);
}

bool IsChosen(const KernelDef& kernel) {
  const PlaceKind kind = kernel.key.place;
  const bool plain = kind == PlaceKind::kCPU && kernel.key.library == "PLAIN";
  if (chosen && *chosen != kind && !plain) return false;
  if (kind != PlaceKind::kCUDA || WhyNoCUDAHere().empty()) return true;
  if (chosen) throw std::runtime_error("--kernels=cuda: " + WhyNoCUDAHere());
  return false;
}

bool CpuLacks(const KernelDef& kernel) {
  return kernel.key.library == "ONEDNN" &&
         kernel.key.dtype == DType::kBFloat16 &&
         !CpuInstructionSet().starts_with("AVX3");
}

std::string& LossOfDevice() {
  static std::string loss;
  return loss;
}

}  // namespace sluice::testing
