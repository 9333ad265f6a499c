// Opens cuda:0 and runs an op there, in a process of its own: for part 1 of the
// GPU kit. Prints one line of JSON.
#include <cstdio>

#include <nlohmann/json.hpp>

#include "sluice/platform/device.h"
#include "sluice/sluice.h"

namespace {

void RunOneOp() {
  const auto x = sluice::Tensor::FromVector<float>({3}, {-1, 0, 2});
  const auto out =
      sluice::RunOp("relu", {{"X", x}}, {}, {.hint = "require place=cuda:0"});
  if (out.at("Out").ToVector<float>() != std::vector<float>{0, 0, 2}) {
    throw std::runtime_error("relu of [-1, 0, 2] on cuda:0 is not [0, 0, 2]");
  }
}

}  // namespace

int main() {
  nlohmann::ordered_json found = {{"usable", false}};
  try {
    auto& device = sluice::DeviceManager::Instance().Get(sluice::CUDAPlace{0});
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
