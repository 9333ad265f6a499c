#include <cstdlib>

#include "tests/testing/child_process.h"
#include "tests/testing/program_option.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/memory/testing.h"
#include "sluice/platform/error.h"

namespace {

void SwitchCheckOff() {
  const char* check = std::getenv("SLUICE_TEST_DISABLE_CHECK");
  sluice::DisableCheckForTesting(check == nullptr ? "" : check);
}

// Resets all hooks before every test. Fresh memory is filled with NaNs, so that
// reads of uninitialised memory show.
class ResetHooks : public ::testing::EmptyTestEventListener {
 public:
  void OnTestStart(const ::testing::TestInfo&) override {
    sluice::CancelFailAllocation();
    sluice::SetFillFreshMemory(true);
    SwitchCheckOff();
  }
};

}  // namespace

// Tests must not use what was measured on this machine, so that they choose the
// same kernels on every one.
// SLUICE_TEST_DISABLE_CHECK=<check id> disables a check; then some test must
// fail (check_mutation.py).
int main(int argc, char** argv) {
  setenv("SLUICE_RECORDS", "off", 0);
  setenv("SLUICE_COSTS", "default", 0);
  ::testing::InitGoogleMock(&argc, argv);
  if (!sluice::testing::UseProgramOptions(argc, argv)) return 2;
  // The child of a death test has no listeners.
  SwitchCheckOff();
  if (const auto status = sluice::testing::RunChildBody()) return *status;
  ::testing::UnitTest::GetInstance()->listeners().Append(new ResetHooks);
  return RUN_ALL_TESTS();
}
