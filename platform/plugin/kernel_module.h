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

// The folder that holds libsluice.so, or the program that it is linked into;
// "" where the system does not tell.
SLUICE_API std::string LibraryFolder();

// Raises FailedPrecondition where Sluice is linked into the program itself
// (BUILD_SHARED_LIBS=OFF): `library`, which links libsluice.so, would bring a
// second Sluice.
SLUICE_API void CheckLoadable(std::string_view library);

}  // namespace sluice::platform
