#include "tests/platform/cuda/device_control.h"

namespace sluice::testing {

void InEveryOrder(FunctionRef<void()> body) {
  body();
}

void RestoreDevice() {}

}  // namespace sluice::testing
