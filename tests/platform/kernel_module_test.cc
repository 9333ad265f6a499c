#include "sluice/platform/plugin/kernel_module.h"

#include <cstdio>
#include <fstream>

#include "tests/platform/plugin_cases.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

// A module's file, which exists during its lifetime.
class ModuleFile {
 public:
  ModuleFile(const std::string& name, const std::string& bytes)
      : path_(LibraryFolder() + "/libsluice_" + name + ".so") {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~ModuleFile() { std::remove(path_.c_str()); }
  ModuleFile(const ModuleFile&) = delete;
  ModuleFile& operator=(const ModuleFile&) = delete;

 private:
  std::string path_;
};

// LoadModule returns errors of `check` as a text.
void ExpectReason(const char* check,
                  const std::string& module,
                  const std::string& reason) {
  SCOPED_TRACE(check);
  const std::string& said = LoadModule(module);
  EXPECT_NE(said.find(reason), std::string::npos) << said;
  EXPECT_EQ(&LoadModule(module), &said) << "it is not tried again";
}

TEST(KernelModule, SaysWhichFileIsNotThere) {
  ExpectReason("module.missing", "none_such",
               "libsluice_none_such.so is not beside libsluice");
}

TEST(KernelModule, SaysWhatALibraryLacks) {
  std::string bytes = ReadFile(SLUICE_BAD_PLUGIN);
  const std::string needs = "libc.so.6";
  bytes.replace(bytes.find(needs), needs.size(), "libq.so.6");
  const ModuleFile file("test_lacks", bytes);
  ExpectReason("module.open", "test_lacks", "libq.so.6");
}

TEST(KernelModule, RefusesALibraryThatIsNone) {
  const ModuleFile file("test_other", ReadFile(SLUICE_BAD_PLUGIN));
  ExpectReason("module.entry", "test_other", "no function SluiceInitModule");
}

TEST(KernelModule, RefusesFilesThatAreNoLibrary) {
  const ModuleFile text("test_text", std::string(5000, 'x'));
  ExpectReason("plugin.not_a_library", "test_text", "libsluice_test_text.so");
  const ModuleFile cut("test_cut", ReadFile(SLUICE_BAD_PLUGIN).substr(0, 3000));
  ExpectReason("plugin.truncated", "test_cut", "truncated");
}

}  // namespace
}  // namespace sluice
