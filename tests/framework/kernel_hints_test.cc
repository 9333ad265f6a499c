#include "sluice/framework/plan/kernel_hints.h"

#include <cstdlib>
#include <fstream>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

namespace sluice::framework {
namespace {

using platform::ErrorCode;
using sluice::testing::ExpectError;

class KernelHintsTest : public ::testing::Test {
 protected:
  ~KernelHintsTest() override {
    unsetenv("SLUICE_KERNEL_HINTS");
    unsetenv("SLUICE_KERNEL_HINTS_FILE");
  }
};

OpDesc Op(const char* type, const char* output) {
  OpDesc op;
  op.type = type;
  op.outputs = {{"Out", {output}}};
  return op;
}

TEST_F(KernelHintsTest, ParsesSelectorVerbAndConstraints) {
  const auto hints = ParseKernelHints(
      "crop: require place=fpga:0, library=PLAIN ; prefer variant=tiled,"
      "layout=NCHW",
      "a test");
  ASSERT_EQ(hints.size(), 2u);
  EXPECT_EQ(hints[0].selector, "crop");
  EXPECT_EQ(hints[0].mode, HintMode::kRequire);
  EXPECT_EQ(hints[0].place, "fpga:0");
  EXPECT_EQ(hints[0].library, "PLAIN");
  EXPECT_EQ(hints[1].selector, "*");
  EXPECT_EQ(hints[1].mode, HintMode::kPrefer);
  EXPECT_EQ(ToString(hints[1]), "prefer variant=tiled, layout=NCHW (a test)");
}

TEST_F(KernelHintsTest, SkipsCommentsAndEmptyRules) {
  const auto hints = ParseKernelHints(
      "# about this file\n#!not a rule\n#\n\n;;\n"
      "  #3: prefer variant=a # the third; prefer variant=c\n"
      "prefer variant=b; #4: prefer variant=d\n",
      "a test");
  ASSERT_EQ(hints.size(), 3u);
  EXPECT_EQ(hints[0].selector, "#3");
  EXPECT_EQ(hints[0].variant, "a");
  EXPECT_EQ(hints[1].variant, "b");
  EXPECT_EQ(hints[2].selector, "#4");
}

TEST_F(KernelHintsTest, RefusesRulesOfAnotherForm) {
  for (const char* rule : {"use variant=a", "prefer", "crop: require",
                           ": prefer variant=a", "variant=a"}) {
    ExpectError(ErrorCode::kInvalidArgument, "hint.form",
                {rule, "a test", "prefer|require"},
                [&] { ParseKernelHints(rule, "a test"); });
  }
}

TEST_F(KernelHintsTest, RefusesUnknownKeysAndMissingValues) {
  for (const char* rule : {"prefer speed=high", "prefer variant",
                           "prefer variant=", "prefer variant=a, place"}) {
    ExpectError(ErrorCode::kInvalidArgument, "hint.key", {rule},
                [&] { ParseKernelHints(rule, "a test"); });
  }
}

TEST_F(KernelHintsTest, SelectsOps) {
  KernelHint hint;
  const OpDesc op = Op("crop", "cut");
  EXPECT_TRUE(hint.Matches(op, 3));
  for (const char* selector : {"crop", "#3", "@cut"}) {
    hint.selector = selector;
    EXPECT_TRUE(hint.Matches(op, 3)) << selector;
  }
  for (const char* selector : {"cut", "#2", "@crop", "#", "@"}) {
    hint.selector = selector;
    EXPECT_FALSE(hint.Matches(op, 3)) << selector;
  }
}

TEST_F(KernelHintsTest, InnerGuardsComeFirstThenFileThenEnvironment) {
  const std::string path = ::testing::TempDir() + "/sluice_hints_test";
  std::ofstream(path) << "prefer variant=file\n";
  setenv("SLUICE_KERNEL_HINTS_FILE", path.c_str(), 1);
  setenv("SLUICE_KERNEL_HINTS", "prefer variant=environment", 1);
  const KernelHintGuard outer("prefer variant=outer");
  const KernelHintGuard inner("prefer variant=inner; prefer variant=second");
  std::vector<std::string> variants;
  for (const KernelHint& hint : ActiveKernelHints()) {
    variants.push_back(hint.variant);
  }
  EXPECT_EQ(variants, (std::vector<std::string>{"inner", "second", "outer",
                                                "file", "environment"}));
  EXPECT_EQ(ActiveKernelHints()[3].source, "file " + path);
  std::remove(path.c_str());
}

TEST_F(KernelHintsTest, ProgramsAndLibrarySwitchesHaveTheirPlace) {
  setenv("SLUICE_KERNEL_HINTS", "prefer variant=environment", 1);
  setenv("SLUICE_ENABLE_TEST", "0", 1);
  const auto hints = ActiveKernelHints("allow library=TEST", {"TEST", "NONE"});
  ASSERT_EQ(hints.size(), 3u);
  EXPECT_EQ(ToString(hints[0]), "allow library=TEST (program)");
  EXPECT_EQ(ToString(hints[2]), "exclude library=TEST (SLUICE_ENABLE_TEST=0)");
  setenv("SLUICE_ENABLE_TEST", "1", 1);
  EXPECT_EQ(ActiveKernelHints("", {"TEST"}).size(), 1u);
  setenv("SLUICE_ENABLE_TEST", "off", 1);
  ExpectError(ErrorCode::kInvalidArgument, "hint.library_switch",
              {"SLUICE_ENABLE_TEST must be 0 or 1, got \"off\""},
              [] { ActiveKernelHints("", {"TEST"}); });
  unsetenv("SLUICE_ENABLE_TEST");
}

TEST_F(KernelHintsTest, NamesAFileThatIsMissing) {
  setenv("SLUICE_KERNEL_HINTS_FILE", "/no/such/file", 1);
  ExpectError(ErrorCode::kNotFound, "hint.file", {"/no/such/file"},
              [] { ActiveKernelHints(); });
}

TEST_F(KernelHintsTest, TheStateTellsGuardsApart) {
  EXPECT_EQ(KernelHintState(), 0u);
  uint64_t first = 0;
  {
    const KernelHintGuard guard("prefer variant=a");
    first = KernelHintState();
    EXPECT_NE(first, 0u);
    const KernelHintGuard inner("prefer variant=a");
    EXPECT_NE(KernelHintState(), first);
  }
  EXPECT_EQ(KernelHintState(), 0u);
  const KernelHintGuard again("prefer variant=a");
  EXPECT_EQ(KernelHintState(), first);
}

TEST_F(KernelHintsTest, AGuardThatCannotBeParsedLeavesNoTrace) {
  EXPECT_THROW(KernelHintGuard("nonsense"), platform::Error);
  EXPECT_TRUE(ActiveKernelHints().empty());
}

}  // namespace
}  // namespace sluice::framework
