#pragma once

#include <string>
#include <string_view>

#include "sluice/platform/export.h"

namespace sluice {

// Raises unless the file at `path` is a complete shared library for this
// machine: NotFound when there is none, InvalidArgument when it is something
// else, DataLoss when it is shorter than its own tables say. The system's
// loader does not check: it maps such a file and the process dies of SIGBUS.
// Errors call the file `what`.
SLUICE_API void CheckSharedLibrary(const std::string& path,
                                   std::string_view what = "plug-in");

// Opens a library that somebody else built, as dlopen does; returns null where
// dlerror has the reason. Its initialisers run: what one raises is an error, of
// the same file from then on, and none changes how this thread computes.
SLUICE_API void* OpenLibrary(const std::string& path, std::string_view what);

}  // namespace sluice
