#include "tools/gpu_kit/probe.h"

#include <cstdio>

#include "tools/gpu_kit/kit.h"

#include "sluice/platform/device.h"
#include "sluice/sluice.h"

namespace sluice::gpu_kit {
namespace {

void RunOneOp() {
  const Tensor x = Tensor::FromVector<float>({3}, {-1, 0, 2});
  const auto out =
      RunOp("relu", {{"X", x}}, {}, {.hint = "require place=cuda:0"});
  if (out.at("Out").ToVector<float>() != std::vector<float>{0, 0, 2}) {
    throw std::runtime_error("relu of [-1, 0, 2] on cuda:0 is not [0, 0, 2]");
  }
}

}  // namespace

int Probe() {
  Json found = {{"usable", false}};
  try {
    platform::Device& device =
        platform::DeviceManager::Instance().Get(CUDAPlace{0});
    found["device"] = device.Description();
    found["emulated"] = device.is_emulated();
    found["memory_limit"] = device.MemoryLimit();
    RunOneOp();
    found["usable"] = true;
  } catch (const std::exception& error) {
    found["reason"] = error.what();
  }
  std::printf("%s\n", found.dump().c_str());
  return found["usable"] ? 0 : 1;
}

}  // namespace sluice::gpu_kit
