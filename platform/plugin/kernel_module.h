#pragma once

#include <string>
#include <string_view>

#include "sluice/platform/export.h"

namespace sluice::platform {

// A part of Sluice in a shared library of its own beside libsluice.so, which
// is loaded when it is first needed: the kernels of a library, or a device.
// `LoadModule("onednn")` opens libsluice_onednn.so and calls its
// `extern "C" void SluiceInitModule()`, which registers what it has.
//
// Returns "" once the module is there, else the reason why it is not, as it
// stands in Explain. The first call for a name decides; thread-safe.
SLUICE_API const std::string& LoadModule(std::string_view name);

// The folder that holds libsluice.so; "" where the system does not tell.
SLUICE_API std::string LibraryFolder();

}  // namespace sluice::platform
