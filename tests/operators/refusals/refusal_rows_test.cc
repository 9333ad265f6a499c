#include "tests/operators/refusals/refusal_rows.h"

#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

namespace sluice::testing {
namespace {

using ::testing::HasSubstr;

const int kRows = RegisterRefusals(SLUICE_OPERATOR_TESTS);

TEST(RefusalRows, AreThere) {
  EXPECT_GT(kRows, 0);
}

constexpr const char* kTwoRows =
    "# One test.\n"
    "\n"
    "Relu.RefusesIntegers\n"
    "  relu: X int32 [2] = [3, -1]\n"
    "  relu: X int32\n"
    "      [1]\n"
    "    op.dtype: \"X\" \"int32\"\n";

std::vector<RefusalRow> Parse(const std::string& text) {
  return ParseRefusals(text, "rows.txt");
}

TEST(RefusalRows, AreTestsWithFileAndLine) {
  const auto rows = Parse(kTwoRows);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].test, "Relu.RefusesIntegers/1");
  EXPECT_EQ(rows[1].line, 5);
  EXPECT_EQ(rows[1].inputs[0].dims, DDim({1}));
  EXPECT_EQ(rows[1].refusal.fragments.size(), 2U);
  for (const RefusalRow& row : rows) {
    ExpectRefused(row);
  }
}

TEST(RefusalRows, MayHaveTheShapesOfOutputs) {
  const auto rows = Parse(
      "A.B\n"
      "  relu: X [-1, 3]\n"
      "    = Out [-1, 3]\n"
      "  top_k: X ?, k = 3\n"
      "    = Out ?, Indices ?\n"
      "  relu: X [2]\n"
      "    = Out [3]\n");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].outputs.size(), 2U);
  ExpectShapes(rows[0]);
  ExpectShapes(rows[1]);
  EXPECT_NONFATAL_FAILURE(ExpectShapes(rows[2]), "expected Out [3], got [2]");
}

TEST(RefusalRows, MistakesInTheTextNameTheLine) {
  const auto expect = [](const char* rows, const char* text) {
    EXPECT_THAT(
        [&] { Parse(rows); },
        ::testing::ThrowsMessage<std::invalid_argument>(HasSubstr(text)));
  };
  expect("A.B\n  relu X [1]\n", "rows.txt:2: expected : before \"X [1]\"");
  expect("A.B\n  relu: X [1\n", "rows.txt:2: ");
  expect("A.B\n  relu: X [1], a = no\n", "rows.txt:2: ");
  expect("A.B\n  relu: X [1] Y [1]\n", "rows.txt:2: expected , before");
  expect("\n  relu: X [1]\n", "rows.txt:2: expected the name of a test");
  expect("A.B\n\n    op.dtype: \"X\"\n", "rows.txt:3: expected a call");
  expect("A.B\n  relu: X [1]\n", "rows.txt:2: the calls before have no error");
  expect("A.B\n  relu: X [1]\n    Wrong op.dtype: \"X\"\n",
         "rows.txt:3: there is no error code Wrong");
  expect("A.B\n  relu: X [1]\n    = Out [1] [2]\n",
         "rows.txt:3: expected , between outputs");
  expect("A\n", "rows.txt:1: expected Suite.Name");
}

TEST(RefusalRows, ThatAreWrongFailAtTheirLine) {
  const auto expect = [](const std::string& call, const char* error,
                         const char* failure) {
    const RefusalRow row =
        Parse("A.B\n  " + call + "\n    " + error + "\n").at(0);
    EXPECT_NONFATAL_FAILURE(ExpectRefused(row), failure);
  };
  expect("relu: X [1]", "op.dtype:", "from op.dtype, got none");
  expect("rlu: X [1]", "op.dtype:", "got NotFound from ");
  expect("relu: X int32 [1]", "op.rank:", "from op.rank, got InvalidArgument");
  expect("relu: X int32 [1]", "op.dtype: \"float99\"", "expected 'float99' in");
  expect("relu: X int32 [1] = [1, 2]", "op.dtype:", "expected 1 values of X");
}

}  // namespace
}  // namespace sluice::testing
