#include "sluice/platform/plugin/plugin_file.h"

#include <cstring>
#include <string>

#include "tests/platform/plugin_cases.h"
#include "tests/testing/expect_error.h"
#include <elf.h>
#include <gtest/gtest.h>

#include "sluice/platform/error.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;

class PluginFileTest : public ::testing::Test {
 protected:
  // The bad plug-in with a changed header.
  template <typename Change>
  std::string Changed(Change change) {
    std::string bytes = ReadFile(SLUICE_BAD_PLUGIN);
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    change(header);
    std::memcpy(bytes.data(), &header, sizeof(header));
    return folder_.Write("changed.so", bytes);
  }

  TempFolder folder_;
};

TEST_F(PluginFileTest, TakesAWholeLibrary) {
  CheckSharedLibrary(SLUICE_BAD_PLUGIN);
}

TEST_F(PluginFileTest, RefusesAPathWithAZeroByte) {
  ExpectError(ErrorCode::kInvalidArgument, "plugin.path_nul", {"\\x00", "path"},
              [] { CheckSharedLibrary(std::string("/a\0b", 4)); });
}

TEST_F(PluginFileTest, SaysWhichFileIsMissing) {
  ExpectError(ErrorCode::kNotFound, "plugin.missing",
              {"/nowhere/libsluice_x.so", "No such file"},
              [] { CheckSharedLibrary("/nowhere/libsluice_x.so"); });
}

TEST_F(PluginFileTest, RefusesOtherFiles) {
  const std::string text = folder_.Write("text.so", std::string(5000, 'x'));
  for (const std::string& path : {text, folder_.File("")}) {
    ExpectError(ErrorCode::kInvalidArgument, "plugin.not_a_library", {path},
                [&] { CheckSharedLibrary(path); });
  }
}

TEST_F(PluginFileTest, RefusesLessThanAHeader) {
  const std::string bytes = ReadFile(SLUICE_BAD_PLUGIN);
  for (size_t length : {0, 4, 63}) {
    const std::string path = folder_.Write("short.so", bytes.substr(0, length));
    ExpectError(ErrorCode::kDataLoss, "plugin.truncated_header",
                {"truncated", "expected a header of 64 bytes"},
                [&] { CheckSharedLibrary(path); });
  }
}

TEST_F(PluginFileTest, RefusesEveryTruncation) {
  const std::string bytes = ReadFile(SLUICE_BAD_PLUGIN);
  for (size_t length = 64; length < bytes.size(); length += 997) {
    const std::string path = folder_.Write("cut.so", bytes.substr(0, length));
    ExpectError(ErrorCode::kDataLoss, "plugin.truncated",
                {"its " + std::to_string(length) + " bytes"},
                [&] { LoadPlugin(path); });
  }
  const std::string path =
      folder_.Write("cut.so", bytes.substr(0, bytes.size() - 1));
  ExpectError(ErrorCode::kDataLoss, "plugin.truncated", {"truncated"},
              [&] { LoadPlugin(path); });
}

TEST_F(PluginFileTest, RefusesTablesThatEndPastTheEndOfTheAddressSpace) {
  for (const uint64_t offset : {uint64_t{1} << 40, ~uint64_t{0} - 8}) {
    const std::string path =
        Changed([&](Elf64_Ehdr& header) { header.e_shoff = offset; });
    ExpectError(ErrorCode::kDataLoss, "plugin.truncated", {"damaged"},
                [&] { CheckSharedLibrary(path); });
  }
}

TEST_F(PluginFileTest, RefusesALibraryOfAnotherMachine) {
  int machine = 0;
  const std::string path =
      Changed([&](Elf64_Ehdr& header) { machine = header.e_machine ^= 0x11; });
  ExpectError(ErrorCode::kInvalidArgument, "plugin.machine",
              {"for machine " + std::to_string(machine)},
              [&] { CheckSharedLibrary(path); });
}

TEST_F(PluginFileTest, RefusesAProgram) {
  const std::string path =
      Changed([](Elf64_Ehdr& header) { header.e_type = ET_EXEC; });
  ExpectError(ErrorCode::kInvalidArgument, "plugin.machine", {"ELF type 2"},
              [&] { CheckSharedLibrary(path); });
}

}  // namespace
}  // namespace sluice
