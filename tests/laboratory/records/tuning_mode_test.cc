#include "sluice/laboratory/records/tuning_mode.h"

#include <bit>
#include <iostream>
#include <set>

#include "tests/laboratory/lab_ops.h"
#include "tests/laboratory/records/record_fixture.h"
#include "tests/testing/child_process.h"
#include "tests/testing/expect_error.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/laboratory/records/record_store.h"
#include "sluice/platform/error.h"

namespace sluice::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The environment is read once, so each mode is tried in its own process. All
// run this program; slow is chosen unless there are records.
constexpr int64_t kSize = 1501;
const std::vector<std::string> kVariants = {"slow", "fast"};

std::string Variant(Executor& executor, const LabProgram& lab) {
  return executor.LastPlan(lab.program)->decisions()[0].kernel->variant;
}

int TuneInChild() {
  const UseVariants use(kVariants);
  const LabProgram lab(kSize, 2);
  Executor executor;
  Tune(executor, lab.program, lab.feeds, lab.fetches);
  return 0;
}
const ChildBody tune_in_child("lab_tune", &TuneInChild);

// Prints kernels, bits and the number of records after each of two runs.
int RunInChild() {
  const UseVariants use(kVariants);
  const LabProgram lab(kSize, 2);
  Executor executor;
  for (const char* run : {"first", "second"}) {
    const auto out = executor.Run(lab.program, lab.feeds, lab.fetches);
    uint32_t bits = 0;
    for (const float value : out[0].ToVector<float>()) {
      bits = bits * 31 + std::bit_cast<uint32_t>(value);
    }
    std::cout << Format("{}: {} bits {} with {} records\n", run,
                        Variant(executor, lab), bits,
                        RecordStore::Default().size());
  }
  std::cout << executor.Explain(lab.program, {.all = true}) << std::endl;
  return 0;
}
const ChildBody run_in_child("lab_run", &RunInChild);

// Another kernel was registered after the records were written.
int RunWithOneMore() {
  const UseVariants use({"slow", "fast", "sleepy"});
  const LabProgram lab(kSize, 2);
  Executor executor;
  executor.Run(lab.program, lab.feeds, lab.fetches);
  std::cout << Variant(executor, lab) << "\n"
            << executor.Explain(lab.program, {.all = true}) << std::endl;
  return 0;
}
const ChildBody run_with_one_more("lab_run_with_one_more", &RunWithOneMore);

class TuningModeTest : public RecordTest {
 protected:
  void SetUp() override {
    if (!CanStartItself()) GTEST_SKIP() << "modes need processes";
  }

  std::string Child(const std::string& body,
                    const std::string& mode,
                    const std::string& seconds = "1") {
    ChildProcess child({"--child=" + body},
                       {"SLUICE_RECORDS=" + path_, "SLUICE_TUNE=" + mode,
                        "SLUICE_TUNE_SECONDS=" + seconds});
    status_ = child.Finish();
    return child.output();
  }

  std::string status_;
};

TEST(TuningMode, WrongNamesAreErrorsWithNearNames) {
  EXPECT_EQ(ParseTuningMode("estimate"), TuningMode::kEstimate);
  EXPECT_EQ(ParseTuningMode("measure"), TuningMode::kMeasure);
  EXPECT_EQ(ParseTuningMode("recorded"), TuningMode::kRecorded);
  ExpectError(ErrorCode::kInvalidArgument, "tuning_mode.name",
              {"SLUICE_TUNE is 'record'", "did you mean recorded?"},
              [] { ParseTuningMode("record"); });
  ExpectError(ErrorCode::kInvalidArgument, "tuning_mode.name",
              {"'2'", "there are estimate, measure, recorded"},
              [] { ParseTuningMode("2"); });
}

TEST(TuningMode, SecondsAreANumberAboveZero) {
  EXPECT_EQ(ParseTuningSeconds("0.5"), 0.5);
  for (const char* text : {"0", "-1", "two", "1s", "inf", "nan", " 1"}) {
    ExpectError(ErrorCode::kInvalidArgument, "tuning_mode.seconds",
                {"SLUICE_TUNE_SECONDS is '", "seconds above 0"},
                [&] { ParseTuningSeconds(text); });
  }
}

TEST_F(TuningModeTest, AWrongValueIsAnErrorOfTheFirstRun) {
  const std::string output = Child("lab_run", "mesure");
  EXPECT_EQ(status_, "exit 1");
  EXPECT_THAT(output, HasSubstr("SLUICE_TUNE is 'mesure'"));
  EXPECT_THAT(output, HasSubstr("did you mean measure?"));
}

TEST_F(TuningModeTest, EstimateMeasuresNothingAndUsesRecords) {
  std::string output = Child("lab_run", "estimate");
  EXPECT_THAT(output, HasSubstr("first: slow"));
  EXPECT_THAT(output, HasSubstr("with 0 records"));
  Child("lab_tune", "estimate");
  EXPECT_EQ(status_, "exit 0");
  output = Child("lab_run", "estimate");
  EXPECT_THAT(output, Not(HasSubstr("first: slow")));
}

TEST_F(TuningModeTest, MeasureTunesAPlanWhenItFirstRuns) {
  std::string output = Child("lab_run", "measure");
  EXPECT_EQ(status_, "exit 0");
  EXPECT_THAT(output, Not(HasSubstr("first: slow")));
  EXPECT_THAT(output, HasSubstr("with 3 records\nsecond"));
  EXPECT_THAT(output, HasSubstr("with 3 records\nprogram"));
  const std::string records = Bytes();
  Child("lab_run", "measure");
  EXPECT_EQ(Bytes(), records) << "what has records was measured again";
}

TEST_F(TuningModeTest, MeasureKeepsToItsSecondsAndIsDoneOnce) {
  // Too short for a race, so that the plan still lacks records.
  const std::string output = Child("lab_run", "measure", "1e-7");
  EXPECT_EQ(status_, "exit 0");
  EXPECT_THAT(output, HasSubstr("second: slow"));
  EXPECT_THAT(output, HasSubstr("with 0 records\nprogram"));
}

TEST_F(TuningModeTest, RecordedTakesTheFirstRegisteredWithoutRecords) {
  const std::string output = Child("lab_run", "recorded");
  EXPECT_THAT(output, HasSubstr("first: slow"));
  EXPECT_THAT(output, HasSubstr("registered first"));
}

TEST_F(TuningModeTest, RecordedRefusesKernelsWithoutARecord) {
  Child("lab_tune", "estimate");
  const std::string output = Child("lab_run_with_one_more", "recorded");
  EXPECT_EQ(status_, "exit 0");
  EXPECT_THAT(output, HasSubstr("sleepy: no record for this signature, and "
                                "SLUICE_TUNE=recorded"));
}

TEST_F(TuningModeTest, SlowAHundredRunsWithOneRecordFileAreEqual) {
  Child("lab_tune", "estimate");
  ASSERT_EQ(status_, "exit 0");
  const std::string records = Bytes();
  std::set<std::string> outputs;
  for (int run = 0; run < 100; ++run) {
    outputs.insert(Child("lab_run", run % 2 == 0 ? "estimate" : "recorded"));
    ASSERT_EQ(status_, "exit 0");
  }
  EXPECT_EQ(outputs.size(), 1u) << *outputs.begin() << *outputs.rbegin();
  EXPECT_EQ(Bytes(), records);
}

}  // namespace
}  // namespace sluice::testing
