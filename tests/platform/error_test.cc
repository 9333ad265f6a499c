#include "sluice/platform/error.h"

#include <string>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/platform/dtype.h"
#include "sluice/platform/place_key.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;

void Check(bool condition) {
  SLUICE_ENFORCE(condition, ErrorCode::kOutOfRange, "error_test.check",
                 "test: got {} of {} on {} as '{}'", 7, DType::kFloat16,
                 PlaceKey(CUDAPlace{2}), "text");
}

TEST(ErrorTest, APassedCheckDoesNothing) {
  EXPECT_NO_THROW(Check(true));
}

TEST(ErrorTest, AFailedCheckSaysCodeIdAndFormattedMessage) {
  try {
    Check(false);
    FAIL() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfRange);
    EXPECT_EQ(error.check_id(), "error_test.check");
    EXPECT_STREQ(error.what(), "test: got 7 of float16 on cuda:2 as 'text'");
  }
}

TEST(ErrorTest, ContextLinesFollowTheMessageInOrder) {
  Error error(ErrorCode::kInternal, "a.b", "sentence");
  error.AddContext("op #3 crop");
  error.AddContext("main.cc:12");
  EXPECT_STREQ(error.what(), "sentence\nop #3 crop\nmain.cc:12");
  EXPECT_EQ(error.check_id(), "a.b");
}

TEST(ErrorTest, ACopyDoesNotSeeLaterContext) {
  Error error(ErrorCode::kInternal, "a.b", "sentence");
  const Error copy = error;
  error.AddContext("line");
  EXPECT_STREQ(copy.what(), "sentence");
  Error assigned(ErrorCode::kNotFound, "c.d", "other");
  assigned = error;
  EXPECT_STREQ(assigned.what(), "sentence\nline");
  EXPECT_EQ(assigned.code(), ErrorCode::kInternal);
}

TEST(ErrorTest, AContextAddedByReferenceIsSeenByOuterHandlers) {
  try {
    try {
      Check(false);
    } catch (Error& error) {
      error.AddContext("op #1");
      throw;
    }
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("\nop #1"), std::string::npos);
  }
}

TEST(ErrorTest, LongMessagesAreNotCut) {
  const std::string text(5000, 'x');
  ExpectError(ErrorCode::kInternal, "error_test.long", {text}, [&] {
    Fail(ErrorCode::kInternal, "error_test.long", "{}", text);
  });
}

TEST(ErrorTest, AWrongFormatStringStillNamesTheCheck) {
  ExpectError(ErrorCode::kInternal, "error_test.format", {"test: {} {}"}, [] {
    Fail(ErrorCode::kInternal, "error_test.format", "test: {} {}", 1);
  });
}

TEST(ErrorTest, ADisabledCheckPassesAndOthersStillFail) {
  DisableCheckForTesting("error_test.check");
  EXPECT_NO_THROW(Check(false));
  EXPECT_THROW(Fail(ErrorCode::kInternal, "error_test.other", "no"), Error);
  DisableCheckForTesting("");
  EXPECT_THROW(Check(false), Error);
}

TEST(ErrorTest, ADisabledRaiseThrowsWhatNoTestExpects) {
  DisableCheckForTesting("error_test.raise");
  ExpectError(ErrorCode::kInternal, "check.disabled", {},
              [] { Raise(ErrorCode::kNotFound, "error_test.raise", "no"); });
  DisableCheckForTesting("");
  ExpectError(ErrorCode::kNotFound, "error_test.raise", {"no"},
              [] { Raise(ErrorCode::kNotFound, "error_test.raise", "no"); });
}

TEST(ErrorTest, TheHostsOwnMemoryHasANamedErrorToo) {
  ExpectError(ErrorCode::kResourceExhausted, "memory.host_exhausted",
              {"no memory left"}, [] { RaiseOutOfMemory(); });
}

TEST(ErrorTest, EveryCodeHasAName) {
  for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
    EXPECT_NE(ToString(static_cast<ErrorCode>(code)), "Unknown") << code;
  }
  EXPECT_EQ(ToString(ErrorCode::kDataLoss), "DataLoss");
}

TEST(FormatTest, PrintsSluiceTypesThroughToString) {
  EXPECT_EQ(Format("{} {} {:.2f}", DType::kBool, PlaceKey(), 0.5),
            "bool cpu 0.50");
}

}  // namespace
}  // namespace sluice
