#pragma once

#include "sluice/platform/plugin/plugin_device.h"

namespace sluice {

// The context of an FPGA: a plug-in's context as a type of its own for kernels.
// It adds nothing, because the core knows nothing about FPGAs.
class SLUICE_API FPGADeviceContext final : public PluginDeviceContext {
 public:
  using PluginDeviceContext::PluginDeviceContext;
};

}  // namespace sluice
