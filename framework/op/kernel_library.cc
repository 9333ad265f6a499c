#include "sluice/framework/op/kernel_library.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <functional>
#include <iterator>
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
#include "sluice/platform/foreign.h"
#include "sluice/platform/plugin/kernel_module.h"
#include "sluice/platform/plugin/library_note.h"
#include "sluice/platform/plugin/plugin_file.h"

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
                   "kernel library {} was built with the headers of another "
                   "Sluice, version {}, than this program runs, version {} in "
                   "{}: its {} is \"{}\", expected \"{}\"; build it again "
                   "with the headers of the latter, or run the program with "
                   "the former",
                   path, stamp["version"], own.at("version"), LibraryFolder(),
                   name, stamp[name], value);
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

// The function that the build adds to every library.
using AddKernels = void (*)(Registry&);

AddKernels Open(const std::string& path) {
  void* handle = OpenLibrary(fs::absolute(path).string(), "kernel library");
  if (handle == nullptr) {
    const char* reason = dlerror();
    Raise(ErrorCode::kNotFound, "kernel_library.open",
          "kernel library {} cannot be opened: {}", path,
          reason == nullptr ? "no reason is given" : reason);
  }
  const auto add =
      reinterpret_cast<AddKernels>(dlsym(handle, "SluiceAddKernelLibrary"));
  SLUICE_ENFORCE(
      add != nullptr, ErrorCode::kInvalidArgument, "kernel_library.entry",
      "{} is no kernel library: it has no SluiceAddKernelLibrary", path);
  return add;
}

// Whether an input or output of the op may have the dtype.
bool HasDType(const OpSchema& schema, DType dtype) {
  const auto& vars = schema.type_vars();
  return vars.empty() || std::ranges::any_of(vars, [&](const auto& var) {
           return std::ranges::find(var.allowed, dtype) != var.allowed.end();
         });
}

bool SameKernel(const KernelDef& a, const KernelDef& b) {
  return a.op == b.op && a.variant == b.variant && a.key == b.key;
}

bool SameButDType(const KernelDef& a, const KernelDef& b) {
  return a.op == b.op && a.variant == b.variant && a.key.place == b.key.place &&
         a.key.library == b.key.library;
}

// The kernel of that name; nullptr if there is none.
const KernelDef* Find(const Registry& registry, const KernelDef& kernel) {
  for (const KernelDef* other : registry.Kernels(kernel.op)) {
    if (SameKernel(*other, kernel)) return other;
  }
  return nullptr;
}

// The interface of an op, one line for each argument and attribute.
std::vector<std::string> InterfaceOf(const OpSchema& schema) {
  std::vector<std::string> lines;
  for (const TypeVarDef& def : schema.type_vars()) {
    lines.push_back(Format("dtype {} {}:", def.name, def.from_attribute));
    for (const DType dtype : def.allowed) {
      lines.back() += Format(" {}", dtype);
    }
  }
  const auto add = [&](const char* what, const ArgDef& def) {
    const ArgTraits& traits = def.traits;
    lines.push_back(Format(
        "{} {} {}{}{}{}{}{} {} {} {} {} {} {}", what, def.name, def.dtype,
        traits.optional ? " optional" : "", traits.variadic ? " variadic" : "",
        traits.host ? " host" : "", traits.shape_only ? " shape" : "",
        traits.keeps_layout ? " layout" : "", def.aliases, def.updates,
        def.overwrites, def.few_rows, def.sparse_rows, def.attribute));
    const RowTraits& rows = schema.rows(def.name);
    lines.back() += Format(" {} {}", rows.offsets, rows.per_sequence);
    for (const std::string& input : rows.rows_of) {
      lines.back() += " " + input;
    }
  };
  for (const ArgDef& def : schema.inputs()) {
    add("input", def);
  }
  for (const ArgDef& def : schema.outputs()) {
    add("output", def);
  }
  for (const AttrDef& def : schema.attributes()) {
    lines.push_back(
        Format("attribute {} {} {}", def.name, ToString(def.type),
               def.default_value ? ToString(*def.default_value) : "needed"));
  }
  return lines;
}

using Loaded = std::deque<KernelLibrary>;

// Whether one of the libraries has a kernel of this name, or such an op.
bool Has(const Loaded& loaded, const KernelDef& kernel) {
  return std::ranges::any_of(loaded, [&](const KernelLibrary& library) {
    return std::ranges::any_of(library.kernels, [&](const KernelDef* other) {
      return SameKernel(*other, kernel);
    });
  });
}

bool HasOp(const Loaded& loaded, const std::string& op) {
  return std::ranges::any_of(loaded, [&](const KernelLibrary& library) {
    const auto& ops = library.operators;
    return std::ranges::find(ops, op) != ops.end();
  });
}

// Raises when the op cannot be added to `registry`, or replaced there if it is
// one of `replaceable`.
void CheckOp(const std::string& path,
             const OpSchema& schema,
             const Registry& registry,
             const Loaded& replaceable) {
  SLUICE_ENFORCE(
      schema.role() == OpRole::kNone, ErrorCode::kInvalidArgument,
      "kernel_library.role",
      "kernel library {}: operator {} serves the role {} (OpSchema::Serves), "
      "which only operators of Sluice do",
      path, schema.name(), schema.role());
  const OpSchema* other = registry.FindSchema(schema.name());
  if (other == nullptr) return;
  SLUICE_ENFORCE(HasOp(replaceable, schema.name()), ErrorCode::kInvalidArgument,
                 "kernel_library.op_taken",
                 "kernel library {}: there is an operator {} already", path,
                 schema.name());
  SLUICE_ENFORCE(
      InterfaceOf(schema) == InterfaceOf(*other),
      ErrorCode::kFailedPrecondition, "kernel_library.op_changed",
      "kernel library {}: operator {} is loaded already, and had other "
      "arguments, attributes, defaults or dtypes, with which programs may use "
      "it: give it another name, or start the process again",
      path, schema.name());
}

// Raises when the kernel, of an op of another library, is not one that it can
// have.
void CheckForeignOp(const std::string& path,
                    const KernelDef& kernel,
                    const Registry& registry) {
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
  // Likewise the modules of libraries.
  for (const KernelModule* module : registry.Modules(kernel.op)) {
    SLUICE_ENFORCE(module->library != kernel.key.library,
                   ErrorCode::kInvalidArgument, "kernel_library.module",
                   "kernel library {}: kernel {} has the library word of "
                   "Sluice's own kernels by {}; give it another one, such as "
                   "MINE (REGISTER_OP_KERNEL)",
                   path, kernel, module->library);
  }
}

// Raises when the kernel cannot be added to `registry`, or replaced there if it
// is one of `replaceable`; `staged` has all ops and kernels of its library.
void CheckKernel(const std::string& path,
                 const KernelDef& kernel,
                 const Registry& staged,
                 const Registry& registry,
                 const Loaded& replaceable) {
  if (staged.FindSchema(kernel.op) == nullptr) {
    CheckForeignOp(path, kernel, registry);
  }
  const KernelDef* other = Find(registry, kernel);
  SLUICE_ENFORCE(other == nullptr || Has(replaceable, kernel),
                 ErrorCode::kInvalidArgument, "kernel_library.kernel_taken",
                 "kernel library {}: there is a kernel {} already; give "
                 "this one another library or variant name "
                 "(REGISTER_OP_KERNEL)",
                 path, kernel);
}

// Withdraws the kernels of `loaded` that `kernels` have for other dtypes only.
void WithdrawOthers(const std::vector<const KernelDef*>& kernels,
                    const Loaded& loaded,
                    Registry* registry) {
  for (const KernelDef* kernel : kernels) {
    for (const KernelDef* other : registry->Kernels(kernel->op)) {
      const auto is_other = [&](const KernelDef* def) {
        return SameKernel(*def, *other);
      };
      if (!SameButDType(*other, *kernel) || !Has(loaded, *other) ||
          std::ranges::any_of(kernels, is_other)) {
        continue;
      }
      KernelDef withdrawn = *other;
      withdrawn.predicate = [](const KernelQuery&) -> std::string {
        return "it was compiled again without this dtype";
      };
      registry->ReplaceKernel(std::move(withdrawn));
    }
  }
}

bool HasPass(const Registry& registry, const std::string& name) {
  const std::vector<PassDef> passes = registry.Passes();
  return std::ranges::find(passes, name, &PassDef::name) != passes.end();
}

// Calls the library, whose errors then name it.
void Add(const std::string& path,
         const std::function<void(Registry&)>& add,
         Registry* registry) {
  try {
    add(*registry);
  } catch (const Error& error) {
    Raise(error.code(), error.check_id(), "kernel library {}: {}", path,
          error.what());
  } catch (...) {
    RethrowForeign(Format("kernel library {}: a registration", path));
  }
}

// Adds everything, or raises and adds nothing. Kernels and ops of `replaceable`
// are replaced.
KernelLibrary Register(const std::string& path,
                       AddKernels add,
                       const Loaded& replaceable,
                       Registry* registry) {
  Registry staged;
  const auto add_all = [add](Registry& to) {
    add(to);
    to.Kernels();  // also what is late
  };
  Add(path, add_all, &staged);
  KernelLibrary library;
  library.path = path;
  library.operators = staged.OpNames();
  bool replaces = false;
  for (const std::string& op : library.operators) {
    CheckOp(path, staged.Schema(op), *registry, replaceable);
    replaces = replaces || registry->FindSchema(op) != nullptr;
  }
  const auto kernels = staged.Kernels();
  for (const KernelDef* kernel : kernels) {
    CheckKernel(path, *kernel, staged, *registry, replaceable);
    replaces = replaces || Find(*registry, *kernel) != nullptr;
  }
  for (const PassDef& pass : staged.Passes()) {
    SLUICE_ENFORCE(
        !replaces && !HasPass(*registry, pass.name),
        ErrorCode::kInvalidArgument, "kernel_library.pass_taken",
        "kernel library {}: it was loaded before, and its pass {} cannot be "
        "replaced: start the process again",
        path, pass.name);
  }
  if (!replaces) {
    Add(path, add, registry);
  } else {
    for (const std::string& op : library.operators) {
      registry->ReplaceOperator(staged.Schema(op));
    }
    for (const KernelDef* kernel : kernels) {
      registry->ReplaceKernel(*kernel);
    }
  }
  WithdrawOthers(kernels, replaceable, registry);
  for (const KernelDef* kernel : kernels) {
    library.kernels.push_back(Find(*registry, *kernel));
  }
  return library;
}

// How many kernels of the library were not replaced.
size_t CurrentKernels(const KernelLibrary& library, const Registry& registry) {
  return std::ranges::count_if(library.kernels, [&](const KernelDef* kernel) {
    return Find(registry, *kernel) == kernel;
  });
}

// Whether no kernel was replaced, and no op by the libraries that came later.
bool IsCurrent(const KernelLibrary& library,
               const Loaded& later,
               const Registry& registry) {
  return CurrentKernels(library, registry) == library.kernels.size() &&
         std::ranges::none_of(library.operators, [&](const std::string& op) {
           return HasOp(later, op);
         });
}

// The loaded libraries of the process; they are never unloaded. One that is
// loaded again, after others have replaced its kernels, is here again.
struct Libraries {
  std::mutex mutex;
  Loaded loaded;

  static Libraries& Instance() {
    static auto* const kLibraries = new Libraries();
    return *kLibraries;
  }

  const KernelLibrary& Load(const std::string& path,
                            KernelLibraryOptions options,
                            Registry* registry) {
    const std::lock_guard lock(mutex);
    std::error_code missing;
    const fs::path file = fs::canonical(path, missing);
    for (auto each = loaded.begin(); each != loaded.end(); ++each) {
      if (missing || each->path != file) continue;
      const Loaded later(std::next(each), loaded.end());
      if (IsCurrent(*each, later, *registry)) return *each;
    }
    CheckStamp(path);
    return loaded.emplace_back(
        Register(missing ? path : file.string(), Open(path),
                 options.replace ? loaded : Loaded(), registry));
  }
};

void LoadOrLog(const std::string& path, Registry* registry) {
  try {
    CheckLoadable(path);
    Libraries::Instance().Load(path, {}, registry);
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

const KernelLibrary& LoadKernelLibrary(std::string_view file,
                                       KernelLibraryOptions options) {
  const std::string path(file);
  CheckLoadable(path);
  Registry& registry = Registry::Global();
  // CUDA kernels must be known before others are compared with them; Explain
  // reports a missing module. No lock is held: the module uses the registry.
  if (CheckStamp(path)) LoadModule("cuda");
  return Libraries::Instance().Load(path, options, &registry);
}

bool IsKernelLibrary(const std::string& path) {
  try {
    return !ReadLibraryNote(path, kKernelNoteName, kKernelNoteType).empty();
  } catch (const std::exception&) {
    return false;
  }
}

std::vector<const KernelLibrary*> LoadedKernelLibraries() {
  const Registry& registry = Registry::Global();  // loads SLUICE_KERNEL_PATH
  Libraries& libraries = Libraries::Instance();
  const std::lock_guard lock(libraries.mutex);
  std::vector<const KernelLibrary*> loaded;
  loaded.reserve(libraries.loaded.size());
  for (const KernelLibrary& library : libraries.loaded) {
    if (library.kernels.empty() || CurrentKernels(library, registry) > 0) {
      loaded.push_back(&library);
    }
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
