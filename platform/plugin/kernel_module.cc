#include "sluice/platform/plugin/kernel_module.h"

#include <filesystem>
#include <map>
#include <mutex>

#include <dlfcn.h>

#include "sluice/platform/error.h"
#include "sluice/platform/plugin/plugin_file.h"

namespace sluice {

namespace fs = std::filesystem;

namespace {

// Returns the path of libsluice.so, or of the program.
const fs::path& OwnFile() {
  static auto* const kFile = new fs::path([]() -> fs::path {
    Dl_info info;
    if (dladdr(reinterpret_cast<const void*>(&LoadModule), &info) == 0) {
      return {};
    }
    std::error_code error;
    const fs::path file = fs::canonical(info.dli_fname, error);
    return error ? fs::path() : file;
  }());
  return *kFile;
}

// Raises the reason if the module cannot be loaded.
void Load(std::string_view name) {
  CheckLoadable(Format("libsluice_{}.so", name));
  const fs::path file =
      fs::path(LibraryFolder()) / Format("libsluice_{}.so", name);
  std::error_code ignored;
  SLUICE_ENFORCE(fs::exists(file, ignored), ErrorCode::kNotFound,
                 "module.missing", "{} is not beside libsluice.so",
                 file.filename().string());
  CheckSharedLibrary(file.string());
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    Raise(ErrorCode::kNotFound, "module.open", "{}",
          reason == nullptr ? "it cannot be opened" : reason);
  }
  auto* init = reinterpret_cast<void (*)()>(dlsym(handle, "SluiceInitModule"));
  SLUICE_ENFORCE(init != nullptr, ErrorCode::kInvalidArgument, "module.entry",
                 "{} has no function SluiceInitModule", file.string());
  init();
}

}  // namespace

std::string LibraryFolder() {
  return OwnFile().parent_path().string();
}

void CheckLoadable(std::string_view library) {
  SLUICE_ENFORCE(OwnFile().filename().string().starts_with("libsluice.so"),
                 ErrorCode::kFailedPrecondition, "module.static",
                 "{} needs libsluice.so, and this program has the static "
                 "libsluice.a",
                 library);
}

const std::string& LoadModule(std::string_view name) {
  // It is recursive because a module may load others while it initializes.
  static std::recursive_mutex mutex;
  static auto* const kOutcomes = new std::map<std::string, std::string>();
  const std::lock_guard lock(mutex);
  const auto [outcome, first] = kOutcomes->try_emplace(std::string(name));
  if (!first) return outcome->second;
  try {
    Load(name);
  } catch (const std::exception& error) {
    outcome->second = error.what();
  }
  return outcome->second;
}

}  // namespace sluice
