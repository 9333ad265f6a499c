#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/op/registry.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// A shared library with kernels, and perhaps ops, that was loaded into the
// process: made by sluice_add_kernel_library or sluice_add_operator_library
// (design/adding_a_kernel.md). Lives as long as the process and never changes.
struct KernelLibrary {
  std::string path;  // absolute, without links
  std::vector<std::string> operators;
  std::vector<const KernelDef*> kernels;
};

// Loads the library at `path`: plans that are prepared from then on have its
// kernels as candidates. A file that is loaded already is returned as it is.
// Thread-safe. Raises, and then nothing has changed:
//   NotFound            no such file, or a library that it needs is missing
//   DataLoss            a truncated file
//   InvalidArgument     no kernel library; an op or a kernel of its name is
//                       there already
//   NotFound            a kernel for an op that nobody has; lists near names
//   FailedPrecondition  built against another Sluice
//   Unimplemented       CUDA kernels, where this Sluice has no such CUDA
// What it was built against is compared before any of its code runs.
SLUICE_API const KernelLibrary& LoadKernelLibrary(std::string_view path);

// Whether the file says of itself that it is one, of any version; false for
// what is no library at all. Nothing of it is loaded.
SLUICE_API bool IsKernelLibrary(const std::string& path);

SLUICE_API std::vector<const KernelLibrary*> LoadedKernelLibraries();

// Loads what the environment variable SLUICE_KERNEL_PATH names, separated by
// colons: libraries, and folders, whose *.so files are loaded that are kernel
// libraries, in the order of their names. What cannot be loaded is an error in
// the log, and the others are loaded all the same. Only Registry::Global calls
// it, once.
void LoadKernelPath(Registry& registry);

}  // namespace sluice::framework
