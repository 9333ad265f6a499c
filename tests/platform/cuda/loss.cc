#include "tests/platform/cuda/loss.h"

#include <string>

#include "tests/testing/child_process.h"
#include "tests/testing/program_option.h"
#include <gtest/gtest.h>
#include <kernel_launch.h>

namespace sluice::testing {
namespace {

bool alone = false;

const ProgramOption kAlone("alone", [](std::string_view value) -> std::string {
  alone = value == "yes";
  return alone ? "" : "expected --alone=yes";
});

}  // namespace

bool RanAlone() {
  if (kCUDAIsEmulated || alone) return false;
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  ChildProcess child({std::string("--gtest_filter=") + test->test_suite_name() +
                          "." + test->name(),
                      "--alone=yes"});
  EXPECT_EQ(child.Finish(), "exit 0") << child.output();
  EXPECT_NE(child.output().find("[  PASSED  ] 1 test"), std::string::npos)
      << child.output();
  return true;
}

}  // namespace sluice::testing
