#include "sluice/framework/op/kernel_library.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <sstream>
#include <utility>

#include <dlfcn.h>

#include "sluice/framework/op/kernel_stamp.h"
#include "sluice/framework/op/near_names.h"
#include "sluice/framework/op/op_schema.h"
#include "sluice/platform/diagnostics/logging.h"
#include "sluice/platform/error.h"
#include "sluice/platform/plugin/kernel_module.h"
#include "sluice/platform/plugin/library_note.h"

namespace sluice {

namespace fs = std::filesystem;

namespace {

using Stamp = std::map<std::string, std::string>;

constexpr const char* kOwnStamp = SLUICE_KERNEL_STAMP " cuda=" SLUICE_CUDA_MODE;

Stamp ParseStamp(const std::string& text) {
  Stamp stamp;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) continue;
    stamp[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return stamp;
}

// Raises unless the library was built for this Sluice and its CUDA. Returns
// whether it has CUDA kernels.
bool CheckStamp(const std::string& path) {
  const std::string text =
      ReadLibraryNote(path, kKernelNoteName, kKernelNoteType);
  SLUICE_ENFORCE(!text.empty(), ErrorCode::kInvalidArgument,
                 "kernel_library.stamp",
                 "{} is no kernel library: it does not say which Sluice it was "
                 "built against (libraries are made by "
                 "sluice_add_kernel_library)",
                 path);
  const Stamp own = ParseStamp(kOwnStamp);
  Stamp stamp = ParseStamp(text);
  for (const auto& [name, value] : own) {
    if (name == "cuda") continue;
    SLUICE_ENFORCE(stamp[name] == value, ErrorCode::kFailedPrecondition,
                   "kernel_library.version",
                   "kernel library {} was built against another Sluice: its "
                   "{} is \"{}\", expected \"{}\"; build it again",
                   path, name, stamp[name], value);
  }
  const std::string cuda = stamp["cuda"];
  const std::string& own_cuda = own.at("cuda");
  if (cuda == "OFF") return false;
  SLUICE_ENFORCE(cuda == own_cuda, ErrorCode::kUnimplemented,
                 "kernel_library.other_cuda",
                 "kernel library {} has CUDA kernels that were compiled with "
                 "SLUICE_CUDA={}, and this Sluice with SLUICE_CUDA={}",
                 path, cuda, own_cuda);
  return true;
}

// The functions and tables that the build adds to every library.
struct EntryPoints {
  const char* const* ops = nullptr;  // ops of its kernels; ends with null
  void (*add)(Registry&) = nullptr;
};

EntryPoints Open(const std::string& path) {
  void* handle = dlopen(fs::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    Raise(ErrorCode::kNotFound, "kernel_library.open",
          "kernel library {} cannot be opened: {}", path,
          reason == nullptr ? "no reason is given" : reason);
  }
  EntryPoints entry;
  entry.ops =
      static_cast<const char* const*>(dlsym(handle, "SluiceKernelLibraryOps"));
  entry.add = reinterpret_cast<void (*)(Registry&)>(
      dlsym(handle, "SluiceAddKernelLibrary"));
  SLUICE_ENFORCE(entry.ops != nullptr && entry.add != nullptr,
                 ErrorCode::kInvalidArgument, "kernel_library.entry",
                 "{} is no kernel library: it has no SluiceAddKernelLibrary",
                 path);
  return entry;
}

std::vector<const KernelDef*> KernelsOf(const Registry& registry,
                                        const EntryPoints& entry) {
  std::vector<const KernelDef*> kernels;
  for (const char* const* op = entry.ops; *op != nullptr; ++op) {
    for (const KernelDef* kernel : registry.Kernels(*op)) {
      kernels.push_back(kernel);
    }
  }
  return kernels;
}

// Whether an input or output of the op may have the dtype.
bool HasDType(const OpSchema& schema, DType dtype) {
  const auto& vars = schema.type_vars();
  return vars.empty() || std::ranges::any_of(vars, [&](const auto& var) {
           return std::ranges::find(var.allowed, dtype) != var.allowed.end();
         });
}

bool SameKernel(const KernelDef& a, const KernelDef& b) {
  return ToString(a) == ToString(b);
}

// Raises when the kernel cannot be added to `registry`; `staged` has all ops
// and kernels of its library.
void CheckKernel(const std::string& path,
                 const KernelDef& kernel,
                 const Registry& staged,
                 const Registry& registry) {
  if (staged.FindSchema(kernel.op) != nullptr) return;
  const OpSchema* schema = registry.FindSchema(kernel.op);
  if (schema == nullptr) {
    Raise(ErrorCode::kNotFound, "kernel_library.unknown_op",
          "kernel library {}: there is no op for kernel {}{}", path, kernel,
          SuggestNames(kernel.op, registry.OpNames()));
  }
  SLUICE_ENFORCE(HasDType(*schema, kernel.key.dtype),
                 ErrorCode::kInvalidArgument, "kernel_library.dtype",
                 "kernel library {}: kernel {} is for a dtype that the op does "
                 "not have",
                 path, kernel);
  // The module of CUDA kernels may be loaded later, and must not fail then.
  const bool taken = kernel.key.place == PlaceKind::kCUDA &&
                     kernel.key.library == "PLAIN" && kernel.variant == "plain";
  SLUICE_ENFORCE(!taken, ErrorCode::kInvalidArgument,
                 "kernel_library.plain_cuda",
                 "kernel library {}: kernel {} needs a variant name of its "
                 "own, \"plain\" is that of Sluice's kernel (use "
                 "REGISTER_OP_KERNEL)",
                 path, kernel);
  for (const KernelDef* other : registry.Kernels(kernel.op)) {
    SLUICE_ENFORCE(!SameKernel(*other, kernel), ErrorCode::kInvalidArgument,
                   "kernel_library.kernel_taken",
                   "kernel library {}: there is a kernel {} already; give "
                   "this one another library or variant name "
                   "(REGISTER_OP_KERNEL)",
                   path, kernel);
  }
}

// Adds everything, or raises and adds nothing.
KernelLibrary Register(const std::string& path,
                       const EntryPoints& entry,
                       Registry* registry) {
  Registry staged;
  try {
    entry.add(staged);
  } catch (const Error& error) {
    Raise(error.code(), error.check_id(), "kernel library {}: {}", path,
          error.what());
  }
  KernelLibrary library;
  library.path = path;
  library.operators = staged.OpNames();
  for (const std::string& op : library.operators) {
    SLUICE_ENFORCE(registry->FindSchema(op) == nullptr,
                   ErrorCode::kInvalidArgument, "kernel_library.op_taken",
                   "kernel library {}: there is an operator {} already", path,
                   op);
  }
  const auto kernels = KernelsOf(staged, entry);
  for (const KernelDef* kernel : kernels) {
    CheckKernel(path, *kernel, staged, *registry);
  }
  entry.add(*registry);
  for (const KernelDef* kernel : KernelsOf(*registry, entry)) {
    const bool ours = std::any_of(
        kernels.begin(), kernels.end(),
        [&](const KernelDef* def) { return SameKernel(*def, *kernel); });
    if (ours) library.kernels.push_back(kernel);
  }
  return library;
}

// The loaded libraries of the process; they are never unloaded.
struct Libraries {
  std::mutex mutex;
  std::deque<KernelLibrary> loaded;

  static Libraries& Instance() {
    static auto* const kLibraries = new Libraries();
    return *kLibraries;
  }

  const KernelLibrary& Load(const std::string& path, Registry* registry) {
    const std::lock_guard lock(mutex);
    std::error_code missing;
    const fs::path file = fs::canonical(path, missing);
    for (const KernelLibrary& library : loaded) {
      if (!missing && library.path == file) return library;
    }
    CheckStamp(path);
    return loaded.emplace_back(
        Register(missing ? path : file.string(), Open(path), registry));
  }
};

void LoadOrLog(const std::string& path, Registry* registry) {
  try {
    CheckLoadable(path);
    Libraries::Instance().Load(path, registry);
  } catch (const std::exception& error) {
    Log(LogLevel::kError, "SLUICE_KERNEL_PATH: {}", error.what());
  }
}

// Returns the libraries of one entry of SLUICE_KERNEL_PATH.
std::vector<std::string> FilesOf(const std::string& entry) {
  std::error_code error;
  if (!fs::is_directory(entry, error)) return {entry};
  std::vector<std::string> files;
  for (fs::directory_iterator file(entry, error), end; !error && file != end;
       file.increment(error)) {
    const std::string path = file->path().string();
    if (path.ends_with(".so") && IsKernelLibrary(path)) files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

const KernelLibrary& LoadKernelLibrary(std::string_view file) {
  const std::string path(file);
  CheckLoadable(path);
  Registry& registry = Registry::Global();
  // CUDA kernels must be known before others are compared with them; Explain
  // reports a missing module. No lock is held: the module uses the registry.
  if (CheckStamp(path)) LoadModule("cuda");
  return Libraries::Instance().Load(path, &registry);
}

bool IsKernelLibrary(const std::string& path) {
  try {
    return !ReadLibraryNote(path, kKernelNoteName, kKernelNoteType).empty();
  } catch (const std::exception&) {
    return false;
  }
}

std::vector<const KernelLibrary*> LoadedKernelLibraries() {
  Registry::Global();  // loads those of SLUICE_KERNEL_PATH
  Libraries& libraries = Libraries::Instance();
  const std::lock_guard lock(libraries.mutex);
  std::vector<const KernelLibrary*> loaded;
  loaded.reserve(libraries.loaded.size());
  for (const KernelLibrary& library : libraries.loaded) {
    loaded.push_back(&library);
  }
  return loaded;
}

void LoadKernelPath(Registry& registry) {
  const char* variable = std::getenv("SLUICE_KERNEL_PATH");
  std::istringstream entries(variable == nullptr ? "" : variable);
  for (std::string entry; std::getline(entries, entry, ':');) {
    if (entry.empty()) continue;
    for (const std::string& file : FilesOf(entry)) {
      LoadOrLog(file, &registry);
    }
  }
}

}  // namespace sluice
