#pragma once

#include <string>
#include <string_view>

#include "sluice/platform/export.h"

namespace sluice {

// Loads a module of Sluice on first use: a shared library beside libsluice.so
// that has the kernels of a library, or a device. `LoadModule("onednn")` opens
// libsluice_onednn.so and calls its `extern "C" void SluiceInitModule()`, which
// registers its contents.
//
// Returns "" if the module is loaded, else the reason for Explain why it is
// not. The result of the first call for a name is kept; thread-safe.
SLUICE_API const std::string& LoadModule(std::string_view name);

// Returns the folder of libsluice.so, or of the program that it is linked into;
// "" if the system does not know it.
SLUICE_API std::string LibraryFolder();

// Raises FailedPrecondition if Sluice is linked into the program itself
// (BUILD_SHARED_LIBS=OFF): `library`, which links libsluice.so, would load a
// second Sluice.
SLUICE_API void CheckLoadable(std::string_view library);

}  // namespace sluice
