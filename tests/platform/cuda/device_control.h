#pragma once

#include "sluice/platform/function_ref.h"

// What a test can do to the device that the program was built for: of these
// files the build takes one, device_control_emulated.cc or
// device_control_native.cc.
namespace sluice::testing {

// Calls `body` in each order that the emulation can give threads and blocks. A
// GPU has its own order: once.
void InEveryOrder(platform::FunctionRef<void()> body);

// The device works again, although a test lost it. On a GPU only the end of
// the process does that.
void RestoreDevice();

}  // namespace sluice::testing
