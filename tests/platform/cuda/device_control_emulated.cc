#include "tests/platform/cuda/device_control.h"

#include "sluice/platform/cuda_emulation/control.h"

namespace sluice::testing {

void InEveryOrder(FunctionRef<void()> body) {
  using cuda_emulation::ThreadOrder;
  auto& options = cuda_emulation::GetOptions();
  const auto before = options.order;
  for (const auto order :
       {ThreadOrder::kForward, ThreadOrder::kReverse, ThreadOrder::kShuffle}) {
    options.order = order;
    body();
    cuda_emulation::ClearFault();
  }
  options.order = before;
}

void RestoreDevice() {
  cuda_emulation::ClearFault();
}

}  // namespace sluice::testing
