#include <gtest/gtest.h>

#include "sluice/platform/device.h"
#include "sluice/platform/error.h"

namespace sluice::testing {
namespace {

// Without a device every test of this program is skipped, with the reason.
class NeedsDevice : public ::testing::Environment {
 public:
  void SetUp() override {
    try {
      platform::DeviceManager::Instance().Get(platform::CUDAPlace{0});
    } catch (const platform::Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

[[maybe_unused]] const auto* const kNeedsDevice =
    ::testing::AddGlobalTestEnvironment(new NeedsDevice);

}  // namespace
}  // namespace sluice::testing
