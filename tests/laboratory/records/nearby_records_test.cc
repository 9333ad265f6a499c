#include "sluice/laboratory/records/nearby_records.h"

#include <limits>

#include <gtest/gtest.h>

#include "sluice/framework/costs/machine.h"

namespace sluice {
namespace {

TEST(SplitSizes, LeavesDtypesAndAttributesAlone) {
  const SignatureSizes split = SplitSizes(
      "conv2d(Input float32[8,3,16,16], Filter float32[4,3,1,1] constant) -> "
      "Output float32[8,4,16,16] {strides=[2, 2]}");
  EXPECT_EQ(split.text,
            "conv2d(Input float32[#,#,#,#], Filter float32[#,#,#,#] constant) "
            "-> Output float32[#,#,#,#] {strides=[2, 2]}");
  EXPECT_EQ(split.sizes,
            (std::vector<int64_t>{8, 3, 16, 16, 4, 3, 1, 1, 8, 4, 16, 16}));
  EXPECT_EQ(SplitSizes("sum() -> Out float32[]").text,
            "sum() -> Out float32[]");
}

TEST(Distance, IsTheLargestFactorBetweenTwoSizes) {
  EXPECT_EQ(Distance({4, 3}, {4, 3}), 0);
  EXPECT_EQ(Distance({4, 3}, {8, 3}), 1);
  EXPECT_EQ(Distance({16, 3}, {4, 6}), 2);
  EXPECT_EQ(Distance({0, 3}, {0, 3}), 0);
  EXPECT_EQ(Distance({0, 3}, {1, 3}), std::numeric_limits<double>::infinity());
}

class NearbyRecordsTest : public ::testing::Test {
 protected:
  NearbyRecordsTest() {
    for (const char* variant : {"plain", "tiled"}) {
      KernelDef& kernel = kernels_.emplace_back();
      kernel.op = "relu";
      kernel.variant = variant;
      kernel.recorded_version = "1";
    }
    for (const KernelDef& kernel : kernels_) {
      Candidate& candidate = candidates_.emplace_back();
      candidate.kernel = &kernel;
      candidate.seconds = candidate.estimate = 1;
    }
  }

  static std::string Relu(int size) {
    const std::string value = "float32[" + std::to_string(size) + ",7]";
    return "relu(X " + value + ") -> Out " + value;
  }

  // A record of `factor` times the estimate.
  Record Measured(size_t kernel, int size, double factor) {
    Record record;
    record.op = "relu";
    record.signature = Relu(size);
    record.kernel = ToString(kernels_[kernel]);
    record.kernel_version = "1";
    record.place = "cpu";
    record.machine = MachineId().text;
    record.estimate = 0.5;
    record.best = record.low = record.median = record.high = 0.5 * factor;
    record.rounds = 9;
    record.verdict = Verdict::kOk;
    return record;
  }

  void Correct(int size) {
    NearbyRecords(store_, 1).CorrectTimes(Relu(size), &candidates_);
  }

  std::vector<KernelDef> kernels_;
  std::vector<Candidate> candidates_;
  RecordStore store_{{.system = {}, .user = ""}};
};

TEST_F(NearbyRecordsTest, LeaveEstimatesAloneWhereNothingIsNear) {
  store_.Add({Measured(0, 9, 4)});
  Correct(64);
  EXPECT_EQ(candidates_[0].seconds, 1);
  EXPECT_EQ(candidates_[0].evidence, Evidence::kEstimate);
  EXPECT_EQ(candidates_[1].seconds, 1);
}

TEST_F(NearbyRecordsTest, CorrectTheLessTheFurtherAwayTheyAre) {
  store_.Add({Measured(0, 64, 4), Measured(1, 64, 1)});
  Correct(32);
  EXPECT_DOUBLE_EQ(candidates_[0].seconds, 2);
  EXPECT_EQ(candidates_[0].evidence, Evidence::kNearby);
  EXPECT_DOUBLE_EQ(candidates_[1].seconds, 1);
  EXPECT_EQ(candidates_[1].evidence, Evidence::kNearby);
}

TEST_F(NearbyRecordsTest, TheNearestCounts) {
  store_.Add({Measured(0, 64, 4), Measured(0, 32, 3), Measured(0, 20, 9)});
  Correct(32);
  EXPECT_DOUBLE_EQ(candidates_[0].seconds, 3);
}

TEST_F(NearbyRecordsTest, ThoseOfThisMachineComeBeforeNearerOnesOfOthers) {
  Record elsewhere = Measured(0, 32, 9);
  elsewhere.machine = "another machine";
  store_.Add({elsewhere, Measured(0, 64, 4)});
  Correct(32);
  EXPECT_DOUBLE_EQ(candidates_[0].seconds, 2);
}

TEST_F(NearbyRecordsTest, AKernelWithoutOneIsCorrectedByTheMeanOfTheOthers) {
  store_.Add({Measured(0, 32, 4)});
  Correct(32);
  EXPECT_DOUBLE_EQ(candidates_[0].seconds, 4);
  EXPECT_DOUBLE_EQ(candidates_[1].seconds, 4);
  EXPECT_EQ(candidates_[1].evidence, Evidence::kEstimate);
}

TEST_F(NearbyRecordsTest, AMeasuredKernelIsLeftAloneAndCorrectsTheOthers) {
  candidates_[0].seconds = 3;
  candidates_[0].evidence = Evidence::kRecord;
  Correct(32);
  store_.Add({Measured(0, 32, 4)});
  Correct(32);
  EXPECT_EQ(candidates_[0].seconds, 3);
  EXPECT_EQ(candidates_[0].evidence, Evidence::kRecord);
  EXPECT_DOUBLE_EQ(candidates_[1].seconds, 3);
}

TEST_F(NearbyRecordsTest, WrongAndRefusedKernelsCorrectNothing) {
  Record wrong = Measured(0, 32, 4);
  wrong.verdict = Verdict::kWrong;
  store_.Add({wrong, Measured(1, 32, 2)});
  candidates_[1].refusal = "not here";
  Correct(32);
  EXPECT_EQ(candidates_[0].seconds, 1);
  EXPECT_EQ(candidates_[1].seconds, 1);
}

TEST_F(NearbyRecordsTest, OthersThreadsAndCachesCorrectNothing) {
  Record threads = Measured(0, 32, 4), cold = Measured(0, 32, 4);
  threads.threads = 2;
  cold.cold = true;
  store_.Add({threads, cold});
  Correct(32);
  EXPECT_EQ(candidates_[0].seconds, 1);
}

}  // namespace
}  // namespace sluice
