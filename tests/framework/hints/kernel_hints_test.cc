#include "sluice/framework/hints/kernel_hints.h"

#include <cstdlib>
#include <fstream>

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/choice/hint_names.h"
#include "sluice/framework/op/registry.h"

namespace sluice {
namespace {

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

TEST_F(KernelHintsTest, NamesTheNearestVerb) {
  ExpectError(ErrorCode::kInvalidArgument, "hint.form",
              {"crop: perfer variant=a", "did you mean prefer?"},
              [&] { ParseKernelHints("crop: perfer variant=a", "a test"); });
  ExpectError(ErrorCode::kInvalidArgument, "hint.form",
              {"did you mean exclude?"},
              [&] { ParseKernelHints("exlude pass=a", "a test"); });
}

TEST_F(KernelHintsTest, RefusesUnknownKeysAndMissingValues) {
  for (const char* rule : {"prefer speed=high", "prefer variant",
                           "prefer variant=", "prefer variant=a, place"}) {
    ExpectError(ErrorCode::kInvalidArgument, "hint.key", {rule},
                [&] { ParseKernelHints(rule, "a test"); });
  }
}

TEST_F(KernelHintsTest, TakesKernelsAsTheyArePrinted) {
  for (const char* rule :
       {"CONV2D: onednn/direct", "conv2d: Prefer onednn/direct",
        "conv2d: prefer VARIANT=onednn/direct"}) {
    const auto hints = ParseKernelHints(rule, "a test");
    ASSERT_EQ(hints.size(), 1u);
    EXPECT_EQ(hints[0].selector, "conv2d");
    EXPECT_EQ(hints[0].mode, HintMode::kPrefer);
    EXPECT_EQ(hints[0].variant, "onednn/direct");
  }
  EXPECT_EQ(ParseKernelHints("#6: plain", "a test")[0].selector, "#6");
  // Names of variables keep their letters.
  EXPECT_EQ(ParseKernelHints("@Out: plain", "a test")[0].selector, "@Out");
}

TEST_F(KernelHintsTest, RefusesTwoValuesForOneKey) {
  const char* rule = "exclude variant=winograd_4x4, variant=winograd_2x2";
  ExpectError(ErrorCode::kInvalidArgument, "hint.key_twice",
              {rule, "two values for variant", "with ; between them"},
              [&] { ParseKernelHints(rule, "a test"); });
}

TEST_F(KernelHintsTest, AsksForAMissingComma) {
  const char* rule = "conv2d: require variant=winograd_2x2 layout=NHWC";
  ExpectError(ErrorCode::kInvalidArgument, "hint.comma",
              {rule, "variant=winograd_2x2 layout=NHWC are two constraints"},
              [&] { ParseKernelHints(rule, "a test"); });
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

TEST_F(KernelHintsTest, AFolderIsNoFileOfHints) {
  setenv("SLUICE_KERNEL_HINTS_FILE", "/", 1);
  ExpectError(ErrorCode::kNotFound, "hint.file",
              {"SLUICE_KERNEL_HINTS_FILE names /,"},
              [] { ActiveKernelHints(); });
}

TEST_F(KernelHintsTest, RefusesTextThatIsNoUtf8) {
  ExpectError(ErrorCode::kInvalidArgument, "hint.text", {"a test", "\\xff"},
              [] { ParseKernelHints("prefer variant=\xff", "a test"); });
}

TEST_F(KernelHintsTest, RefusesAnIndexThatIsNone) {
  for (const char* rule : {"#: prefer variant=a", "#x: prefer variant=a",
                           "#-1: prefer variant=a"}) {
    ExpectError(ErrorCode::kInvalidArgument, "hint.index", {rule, "a test"},
                [&] { ParseKernelHints(std::string(";") + rule, "a test"); });
  }
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
  EXPECT_THROW(KernelHintGuard("nonsense"), Error);
  EXPECT_TRUE(ActiveKernelHints().empty());
}

class HintNamesTest : public ::testing::Test {
 protected:
  HintNamesTest() { sluice::testing::UseTestOps(); }

  static void Check(const std::string& rules) {
    CheckHintNames(ParseKernelHints(rules, "a test"), Registry::Global());
  }
  static void ExpectUnknown(const std::string& rules,
                            std::string_view check_id,
                            std::initializer_list<std::string_view> fragments) {
    for (const char* mode : {"prefer ", "require ", "exclude ", "allow "}) {
      std::string rule = rules;
      rule.replace(rule.find("VERB "), 5, mode);
      ExpectError(ErrorCode::kNotFound, check_id, fragments,
                  [&] { Check(rule); });
    }
  }
};

TEST_F(HintNamesTest, TakesWhatThereIs) {
  Check(
      "test_add: prefer variant=wrong; *: require library=PLAIN, place=cpu;"
      "#3: exclude place=cuda:7; @nothing: allow library=ONEDNN;"
      "prefer layout=NHWC; prefer place=fpga");
}

TEST_F(HintNamesTest, AcceptsWhatExplainPrints) {
  Check("test_add: WRONG; TEST_ADD+test_divide: prefer library=plain");
  Check("prefer LAYOUT=nhwc; exclude place=CPU; prefer plain");
  ExpectUnknown("test_add+test_ad: VERB variant=plain", "hint.unknown_op",
                {"there is no operator test_ad"});
}

TEST_F(HintNamesTest, NamesAnUnknownOp) {
  ExpectUnknown(
      "test_ad: VERB variant=plain", "hint.unknown_op",
      {"there is no operator test_ad; did you mean test_add? (an op of your "
       "own needs its library loaded or registered first)",
       "a test"});
}

TEST_F(HintNamesTest, NamesAnUnknownVariant) {
  ExpectUnknown(
      "test_add: VERB variant=wrogn", "hint.unknown_variant",
      {"no kernel of test_add is called wrogn", "did you mean wrong?"});
  ExpectUnknown("VERB variant=palin", "hint.unknown_variant",
                {"any operator", "plain"});
  // A variant of another op.
  ExpectUnknown("test_divide: VERB variant=wrong", "hint.unknown_variant",
                {"no kernel of test_divide is called wrong", "plain"});
}

TEST_F(HintNamesTest, NamesAnUnknownLibrary) {
  ExpectUnknown("VERB library=ONEDN", "hint.unknown_library",
                {"library ONEDN", "did you mean ONEDNN?"});
}

TEST_F(HintNamesTest, NamesAnUnknownKindOfDevice) {
  ExpectUnknown("VERB place=fgpa:0", "hint.unknown_device",
                {"device fgpa", "did you mean", "fpga", "libsluice_fgpa.so",
                 "SLUICE_PLUGIN_PATH"});
}

TEST_F(HintNamesTest, NamesAnUnknownLayout) {
  ExpectUnknown("VERB layout=NHCW", "hint.unknown_layout",
                {"layout NHCW", "NCHW"});
}

TEST_F(HintNamesTest, RefusesAPlaceOfAnotherForm) {
  ExpectError(ErrorCode::kInvalidArgument, "place.text", {"fpga 0", "a test"},
              [] { Check("exclude place=FPGA 0"); });
}

// The kernel is from a plug-in that is not loaded yet.
TEST_F(HintNamesTest, LooksIntoPluginsBeforeItGivesUp) {
  Check("manhattan_distance: prefer variant=systolic");
}

TEST_F(HintNamesTest, AProgramIsNotPreparedWithAMisspeltHint) {
  Program program;
  program.Data("x", DType::kFloat32, {2});
  const std::string out = sluice::testing::Append(&program, "test_add",
                                                  {{"X", {"x"}}, {"Y", {"x"}}});
  Executor executor;
  const Feeds feeds = {{"x", sluice::testing::Iota({2})}};
  {
    const KernelHintGuard guard("test_adds: prefer variant=wrong");
    ExpectError(ErrorCode::kNotFound, "hint.unknown_op", {"scope guard"},
                [&] { executor.Run(program, feeds, {out}); });
  }
  program.Hint("require variant=worng");
  ExpectError(ErrorCode::kNotFound, "hint.unknown_variant",
              {"op attribute", "no kernel of test_add is called worng",
               "in op 0 (test_add)", "test_ops.cc"},
              [&] { executor.Run(program, feeds, {out}); });
  // Even if the hint is not about an op of the program.
  program.Hint("test_ad: require variant=wrong");
  ExpectError(ErrorCode::kNotFound, "hint.unknown_op",
              {"did you mean test_add?", "in op 0 (test_add)"},
              [&] { executor.Run(program, feeds, {out}); });
  program.Hint("test_scratch: require variant=reluctant");
  executor.Run(program, feeds, {out});
}

}  // namespace
}  // namespace sluice
