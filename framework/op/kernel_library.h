#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/op/registry.h"
#include "sluice/platform/export.h"

namespace sluice {

// A loaded shared library with kernels, and perhaps ops, that
// sluice_add_kernel_library or sluice_add_operator_library built
// (docs/adding_a_kernel.md). Lives as long as the process and never changes.
struct KernelLibrary {
  std::string path;  // absolute, without links
  std::vector<std::string> operators;
  std::vector<const KernelDef*> kernels;
};

struct KernelLibraryOptions {
  // Kernels of libraries that were loaded before are replaced by kernels of the
  // same name, and withdrawn for dtypes that the new library leaves out. Ops
  // are replaced, too, if arguments and attributes are the same. Executors
  // prepare their plans again.
  bool replace = false;
};

// Loads the library at `path`; its kernels are candidates in plans that are
// prepared later. A loaded file is not loaded again, unless something of it was
// replaced since. Thread-safe. If it raises, nothing has changed:
//   NotFound            no such file, or a library that it needs is missing
//   DataLoss            a truncated file
//   InvalidArgument     no kernel library; an op or a kernel of its name is
//                       there already
//   NotFound            a kernel for an unknown op; lists similar names
//   FailedPrecondition  built against another Sluice
//   Unimplemented       CUDA kernels, where this Sluice has no such CUDA
// The build stamp is compared before any of the library's code runs.
SLUICE_API const KernelLibrary& LoadKernelLibrary(
    std::string_view path, KernelLibraryOptions options = {});

// Whether the file has the note of a kernel library, of any version; false for
// any other file. The library is not loaded.
SLUICE_API bool IsKernelLibrary(const std::string& path);

// Without those whose kernels were all replaced.
SLUICE_API std::vector<const KernelLibrary*> LoadedKernelLibraries();

// Loads the entries of the environment variable SLUICE_KERNEL_PATH, separated
// by colons: libraries, and folders, whose kernel libraries (*.so) are loaded
// in the order of their names. A library that cannot be loaded is logged as an
// error and skipped. Only Registry::Global calls it, once.
void LoadKernelPath(Registry& registry);

}  // namespace sluice
