#include "sluice/platform/plugin/plugin_loader.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/platform/plugin_cases.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/fake_device.h"
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "sluice/platform/device.h"
#include "sluice/platform/error.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;

int Devices(const std::string& type) {
  return DeviceManager::Instance().Count(InternPlaceKind(type));
}

bool IsLoaded(const std::string& path) {
  const auto plugins = LoadedPlugins();
  return std::any_of(plugins.begin(), plugins.end(),
                     [&](const auto* plugin) { return plugin->path == path; });
}

// Removes the sink at the end.
struct ScopedSink {
  explicit ScopedSink(PluginSink sink) { SetPluginSink(std::move(sink)); }
  ~ScopedSink() { SetPluginSink(nullptr); }
};

class PluginLoaderTest : public ::testing::Test {
 protected:
  // Expects the plug-in with the mistake to be refused without later effects,
  // so that a correct one loads next.
  void ExpectRefused(const std::string& mistake,
                     ErrorCode code,
                     std::string_view check_id,
                     std::initializer_list<std::string_view> fragments,
                     int line = __builtin_LINE()) {
    const size_t before = LoadedPlugins().size();
    ExpectError(
        code, check_id, fragments, [&] { LoadBadPlugin(mistake); }, __FILE__,
        line);
    EXPECT_EQ(LoadedPlugins().size(), before);
    EXPECT_EQ(Devices(mistake), 0);
    const std::string good = "after_" + mistake;
    EXPECT_EQ(LoadBadPlugin(good).device_count, 1);
    EXPECT_EQ(Devices(good), 1);
  }

  TempFolder folder_;
};

TEST_F(PluginLoaderTest, AddsTheDevicesAndKernelsOfAPlugin) {
  const DevicePlugin& plugin = LoadBadPlugin("works");
  EXPECT_STREQ(plugin.table.device_type, "works");
  EXPECT_EQ(plugin.kind, InternPlaceKind("works"));
  ASSERT_EQ(plugin.kernels.size(), 2u);
  EXPECT_STREQ(plugin.kernels[1].op, "reshape");
  EXPECT_EQ(plugin.kernels[1].dtype, SLUICE_FLOAT64);
  EXPECT_EQ(
      ToString(DeviceManager::Instance().Get(PlaceKey(plugin.kind, 0)).place()),
      "works:0");
  EXPECT_TRUE(IsLoaded(plugin.path));
}

TEST_F(PluginLoaderTest, LoadsAFileOnce) {
  const DevicePlugin& first = LoadBadPlugin("once");
  const std::filesystem::path path(first.path);
  EXPECT_EQ(&LoadPlugin(path.string()), &first);
  EXPECT_EQ(&LoadPlugin((path.parent_path() / "." / path.filename()).string()),
            &first);
}

TEST_F(PluginLoaderTest, HandsPluginsOfBeforeAndAfterToTheSink) {
  LoadBadPlugin("before_the_sink");
  std::set<std::string> seen;
  ScopedSink sink([&](const DevicePlugin& plugin) {
    EXPECT_TRUE(seen.insert(plugin.table.device_type).second);
  });
  EXPECT_EQ(seen.count("before_the_sink"), 1u);
  LoadBadPlugin("after_the_sink");
  EXPECT_EQ(seen.count("after_the_sink"), 1u);
}

TEST_F(PluginLoaderTest, RefusesWhatTheSinkRefuses) {
  ScopedSink sink([](const DevicePlugin& plugin) {
    if (plugin.table.device_type == std::string("unwanted")) {
      throw Error(ErrorCode::kInvalidArgument, "test.sink", "not this one");
    }
  });
  ExpectRefused("unwanted", ErrorCode::kInvalidArgument, "test.sink",
                {"not this one"});
}

TEST_F(PluginLoaderTest, RefusesAnotherVersion) {
  ExpectRefused(
      "other_version", ErrorCode::kUnimplemented, "plugin.version",
      {"other_version.so", "expected plug-in ABI version 1 to 1", "got 2"});
}

TEST_F(PluginLoaderTest, RefusesATableThatIsTooSmall) {
  ExpectRefused("table_too_small", ErrorCode::kInvalidArgument,
                "plugin.struct_size", {"struct_size of 40"});
}

TEST_F(PluginLoaderTest, ReportsAThrowFromInit) {
  ExpectRefused("throws_in_init", ErrorCode::kInternal, "plugin.threw",
                {"SluicePluginInit threw", "no driver, no mercy"});
}

TEST_F(PluginLoaderTest, ReportsAThrowFromACallback) {
  ExpectRefused("throws_in_count", ErrorCode::kInternal, "plugin.threw",
                {"device_count threw", "no counting today"});
}

TEST_F(PluginLoaderTest, ReportsWhyAPluginRefuses) {
  ExpectRefused("refuses", ErrorCode::kFailedPrecondition, "plugin.refused",
                {"driver 12 is too old"});
}

TEST_F(PluginLoaderTest, RefusesANegativeCount) {
  ExpectRefused("negative_count", ErrorCode::kInvalidArgument,
                "plugin.device_count", {"got -1"});
}

TEST_F(PluginLoaderTest, NamesEveryMissingCallback) {
  ExpectRefused("no_allocate", ErrorCode::kInvalidArgument,
                "plugin.required_callbacks", {"without allocate"});
  ExpectRefused("no_synchronise", ErrorCode::kInvalidArgument,
                "plugin.required_callbacks", {"without synchronise"});
}

TEST_F(PluginLoaderTest, RefusesHalfAnOptionalFeature) {
  ExpectRefused("half_a_queue", ErrorCode::kInvalidArgument,
                "plugin.queue_callbacks", {"create_queue"});
  ExpectRefused("half_an_event", ErrorCode::kInvalidArgument,
                "plugin.event_callbacks", {"got 1 without queues"});
}

TEST_F(PluginLoaderTest, RefusesABadDeviceType) {
  ExpectRefused("bad_type", ErrorCode::kInvalidArgument, "plugin.device_type",
                {"got 'Not A Name'"});
}

TEST_F(PluginLoaderTest, RefusesTheNameOfABuiltInDevice) {
  ExpectRefused("reserved_type", ErrorCode::kInvalidArgument,
                "plugin.reserved_type", {"'cpu' belongs to Sluice"});
}

TEST_F(PluginLoaderTest, RefusesADeviceTypeThatIsThereAlready) {
  LoadBadPlugin("works");
  ExpectRefused(
      "second_copy", ErrorCode::kInvalidArgument, "plugin.duplicate_device",
      {"second_copy.so", "'works' is registered already, by", "works.so"});
}

TEST_F(PluginLoaderTest, RefusesAKindThatSomebodyElseAdded) {
  const PlaceKind kind = InternPlaceKind("taken");
  DeviceManager::Instance().AddKind(
      kind, 3, [](int) { return std::unique_ptr<Device>(); });
  ExpectError(ErrorCode::kInvalidArgument, "plugin.kind_taken",
              {"devices of type 'taken' already"},
              [&] { LoadBadPlugin("taken"); });
}

TEST_F(PluginLoaderTest, RefusesAKernelThatIsRegisteredTwice) {
  ExpectRefused("duplicate_kernel", ErrorCode::kInvalidArgument,
                "plugin.duplicate_kernel",
                {"kernel reshape/bad", "twice", "two variants"});
}

TEST_F(PluginLoaderTest, RefusesBadKernels) {
  ExpectRefused("no_kernel_list", ErrorCode::kInvalidArgument,
                "plugin.kernel_list", {"a list of 2 kernels, got null"});
  ExpectRefused("kernel_too_small", ErrorCode::kInvalidArgument,
                "plugin.kernel_size", {"kernel 1 of 2", "got 8"});
  ExpectRefused("kernel_of_no_op", ErrorCode::kInvalidArgument,
                "plugin.kernel_name", {"got '' and 'bad'"});
  ExpectRefused("kernel_of_unknown_dtype", ErrorCode::kInvalidArgument,
                "plugin.kernel_dtype", {"reshape/bad", "got 77"});
  ExpectRefused("kernel_of_unknown_layout", ErrorCode::kInvalidArgument,
                "plugin.kernel_layout", {"reshape/bad", "got -1"});
  ExpectRefused("kernel_without_compute", ErrorCode::kInvalidArgument,
                "plugin.kernel_compute", {"reshape/bad", "compute"});
}

TEST_F(PluginLoaderTest, RefusesALibraryThatIsNoPlugin) {
  Dl_info info;
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&LoadPlugin), &info), 0);
  ExpectError(ErrorCode::kInvalidArgument, "plugin.no_entry",
              {"exports SluicePluginInit"},
              [&] { LoadPlugin(info.dli_fname); });
}

TEST_F(PluginLoaderTest, RefusesAFifoAtOnce) {
  const std::string path = folder_.File("fifo.so");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  ExpectError(ErrorCode::kInvalidArgument, "plugin.not_a_library", {path},
              [&] { LoadPlugin(path); });
}

TEST_F(PluginLoaderTest, RefusesWhatTheSystemCannotLoad) {
  std::string bytes = ReadFile(SLUICE_BAD_PLUGIN);
  bytes[7] = 0x55;  // another operating system
  const std::string path = folder_.Write("foreign.so", bytes);
  ExpectError(ErrorCode::kInvalidArgument, "plugin.unloadable",
              {"foreign.so", "cannot load"}, [&] { LoadPlugin(path); });
}

TEST_F(PluginLoaderTest, LooksInThePathOfTheEnvironmentFirst) {
  const std::string path =
      folder_.Write("libsluice_sought.so", ReadFile(SLUICE_BAD_PLUGIN));
  EXPECT_EQ(FindPlugin("sought"), "");
  setenv("SLUICE_PLUGIN_PATH", (":/nowhere:" + folder_.File("")).c_str(), 1);
  setenv("SLUICE_BAD_PLUGIN", "sought", 1);
  EXPECT_EQ(PluginFolders()[0], "/nowhere");
  EXPECT_EQ(FindPlugin("sought"), path);
  const PlaceKey place(InternPlaceKind("sought"), 0);
  EXPECT_EQ(DeviceManager::Instance().Get(place).place(), place);
  unsetenv("SLUICE_PLUGIN_PATH");
}

TEST_F(PluginLoaderTest, TheSearchNamesWholePaths) {
  const std::string path = "/" + std::string(200, 'a') + "/end";
  setenv("SLUICE_PLUGIN_PATH", path.c_str(), 1);
  const std::string text = DescribePluginSearch("none");
  EXPECT_NE(text.find(" in \"" + path + "\", "), std::string::npos) << text;
  EXPECT_NE(text.find(" is \"" + path + "\")"), std::string::npos) << text;
  unsetenv("SLUICE_PLUGIN_PATH");
}

}  // namespace
}  // namespace sluice
