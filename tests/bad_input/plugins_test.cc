#include "tests/bad_input/bad_input.h"
#include "tests/platform/plugin_cases.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/op/plugin_kernels.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/run/run_op.h"
#include "sluice/platform/device.h"

// tests/platform/plugin_loader_test.cc has the other errors of the loader.
namespace sluice::testing {
namespace {

using sluice::TempFolder;

size_t KernelCount() {
  size_t count = 0;
  for (const std::string& op : Registry::Global().OpNames()) {
    count += Registry::Global().Kernels(op).size();
  }
  return count;
}

// Expects a refusal without changes of devices, kernels and plug-ins.
void ExpectRefusedPlugin(ErrorCode code,
                         std::string_view check_id,
                         std::initializer_list<std::string_view> fragments,
                         const std::string& path,
                         int line = __builtin_LINE()) {
  ExpectNextRunWorks();  // loads the libraries of its op
  const size_t kernels = KernelCount();
  const size_t plugins = LoadedPlugins().size();
  const size_t places = DeviceManager::Instance().Places().size();
  ExpectRefusedInput(
      code, check_id, fragments, [&] { LoadDevicePlugin(path); }, __FILE__,
      line);
  EXPECT_EQ(KernelCount(), kernels);
  EXPECT_EQ(LoadedPlugins().size(), plugins);
  EXPECT_EQ(DeviceManager::Instance().Places().size(), places);
}

// A copy of the plug-in that makes one mistake.
class BadPlugins : public ::testing::Test {
 protected:
  std::string Making(const std::string& mistake) {
    setenv("SLUICE_BAD_PLUGIN", mistake.c_str(), 1);
    return folder_.Write(mistake + ".so", sluice::ReadFile(SLUICE_BAD_PLUGIN));
  }

  TempFolder folder_;
};

TEST_F(BadPlugins, Missing) {
  ExpectRefusedPlugin(ErrorCode::kNotFound, "plugin.missing",
                      {"nowhere.so", "No such file"},
                      folder_.File("nowhere.so"));
}

TEST_F(BadPlugins, Truncated) {
  const std::string whole = sluice::ReadFile(SLUICE_BAD_PLUGIN);
  ExpectRefusedPlugin(ErrorCode::kDataLoss, "plugin.truncated_header",
                      {"cut.so", "truncated", "got 10 bytes"},
                      folder_.Write("cut.so", whole.substr(0, 10)));
  for (size_t left : {size_t{100}, whole.size() / 2, whole.size() - 1}) {
    ExpectRefusedPlugin(ErrorCode::kDataLoss, "plugin.truncated",
                        {"cut.so", "truncated", std::to_string(left)},
                        folder_.Write("cut.so", whole.substr(0, left)));
  }
}

TEST_F(BadPlugins, OfAnotherVersion) {
  ExpectRefusedPlugin(ErrorCode::kUnimplemented, "plugin.version",
                      {"other_version.so", "expected", "version 1", "got 2"},
                      Making("other_version"));
}

TEST_F(BadPlugins, ThatThrows) {
  ExpectRefusedPlugin(
      ErrorCode::kInternal, "plugin.threw",
      {"throws_in_init.so", "SluicePluginInit threw", "no driver, no mercy"},
      Making("throws_in_init"));
  ExpectRefusedPlugin(ErrorCode::kInternal, "plugin.threw",
                      {"throws_in_count.so", "device_count threw"},
                      Making("throws_in_count"));
}

// It reports that op 3 failed, for a plan with one op.
TEST_F(BadPlugins, NamingAnOpThatThePlanDoesNotHave) {
  LoadDevicePlugin(Making("fails_late"));
  const Tensor x = Tensor::FromVector<float>({2, 2}, {1, 2, 3, 4});
  ExpectError(ErrorCode::kInternal, "plugin.callback_failed",
              {"the fuse is blown", "after the last op"}, [&] {
                RunOp("reshape", {{"X", x}},
                      {{"shape", std::vector<int64_t>{4}}},
                      {.place = ParsePlaceKey("fails_late:0")});
              });
}

TEST_F(BadPlugins, RegisteringANameTwice) {
  ExpectRefusedPlugin(ErrorCode::kInvalidArgument, "plugin.duplicate_kernel",
                      {"duplicate_kernel.so", "reshape/bad", "twice"},
                      Making("duplicate_kernel"));
}

}  // namespace
}  // namespace sluice::testing
