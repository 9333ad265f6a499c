#include "sluice/framework/choice/resolver.h"

#include <deque>
#include <memory>
#include <vector>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/choice/reason_text.h"
#include "sluice/framework/costs/kernel_costs.h"
#include "sluice/framework/op/op_schema.h"
#include "sluice/platform/device.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;

// Bytes that a kernel moves, which decide by default.
constexpr double kFast = 1e5, kUsual = 1e6;

class ResolverTest : public ::testing::Test {
 protected:
  ResolverTest() : schema_("op") {
    DeviceManager::Instance().Get(FPGAPlace{0});
    op_.type = "op";
    op_.outputs = {{"Out", {"o"}}};
  }

  KernelDef& Kernel(const char* variant,
                    double bytes = kUsual,
                    PlaceKind place = PlaceKind::kCPU,
                    double prepare_seconds = 0) {
    KernelDef kernel;
    kernel.op = "op";
    kernel.key.place = place;
    kernel.variant = variant;
    kernel.estimate = [=](const KernelQuery&) {
      return KernelWork{.bytes = bytes, .prepare_seconds = prepare_seconds};
    };
    kernel.make = [](const OpKernelConstruction&) {
      return std::unique_ptr<OpKernel>();
    };
    return kernels_.emplace_back(std::move(kernel));
  }

  // Resolves op 4, whose kernels are those of this test.
  PreparedOp Run(std::string_view hints = "") {
    registry_ = std::make_unique<Registry>();
    for (const KernelDef& kernel : kernels_)
      registry_->AddKernel(kernel);
    if (!module_.name.empty()) registry_->AddModule(module_);
    hints_.clear();
    for (KernelHint& hint : ParseKernelHints(hints, "a test")) {
      if (hint.Matches(op_, 4)) hints_.push_back(std::move(hint));
    }
    PreparedOp op;
    op.desc = op_;
    op.id = 4;
    op.schema = &schema_;
    op.inputs = {DDim({2, 3}), DDim({5})};
    op.input_dtypes = {DType::kFloat32, DType::kInt64};
    op.sizes_change = sizes_change_;
    for (const KernelHint& hint : hints_) {
      op.hints.push_back(&hint);
    }
    CandidateLister lister(*registry_, place_, 1);
    if (!Resolve(&lister, &op)) RaiseNoKernel(op);
    GiveReason(&op);
    variant_ = op.choice().kernel->variant;
    for (const Candidate& candidate : op.list->candidates) {
      refusals_[candidate.kernel->variant] = candidate.refusal;
    }
    return op;
  }

  OpSchema schema_;
  OpDesc op_;
  std::vector<KernelDef> kernels_;
  KernelModule module_;
  PlaceKey place_;
  bool sizes_change_ = false;
  std::unique_ptr<Registry> registry_;
  std::deque<KernelHint> hints_;
  std::string variant_;
  std::map<std::string, std::string> refusals_;
};

TEST_F(ResolverTest, TakesTheOnlyKernelThatFits) {
  Kernel("plain");
  EXPECT_EQ(Run().reason, "the only kernel that fits");
  EXPECT_EQ(variant_, "plain");
}

TEST_F(ResolverTest, AnEstimateMayDependOnTheSizes) {
  Kernel("plain");
  Kernel("tiled").estimate = [](const KernelQuery& query) {
    return KernelWork{.bytes = query.inputs[0][0] > 2 ? 1e3 : 1e9};
  };
  Run();
  EXPECT_EQ(variant_, "plain");
}

TEST_F(ResolverTest, TakesTheShorterPredictedTime) {
  const auto bytes = [](double value) {
    return [value](const KernelQuery&) { return KernelWork{.bytes = value}; };
  };
  Kernel("plain").estimate = bytes(2e6);
  Kernel("tiled").estimate = bytes(1e6);
  Kernel("slow").estimate = bytes(3e6);
  const std::string reason = Run().reason;
  EXPECT_EQ(variant_, "tiled");
  EXPECT_NE(reason.find("us estimated before plain with "), std::string::npos)
      << reason;
}

TEST_F(ResolverTest, TakesTheEarlierRegistrationAmongEquals) {
  Kernel("first");
  Kernel("second");
  const std::string reason = Run().reason;
  EXPECT_NE(reason.find("us estimated as is second; registered first"),
            std::string::npos)
      << reason;
  EXPECT_EQ(variant_, "first");
}

TEST_F(ResolverTest, WhatComesLastLosesToTheSlowest) {
  Kernel("guess").comes_last = true;
  Kernel("slow", 1e9);
  const PreparedOp op = Run();
  EXPECT_EQ(variant_, "slow");
  EXPECT_EQ(op.why.reason, Reason::kOthersUnmeasured);
  EXPECT_EQ(op.reason.substr(op.reason.find(';')), "; guess was not measured");
  Run("prefer variant=guess");
  EXPECT_EQ(variant_, "guess");
}

// Costs in the table of costs are known, as tanh's are.
TEST_F(ResolverTest, AKernelThatComesLastNeedsARecordOrAHint) {
  op_.type = "tanh";
  ASSERT_TRUE(KernelCosts::Active().Has("tanh/PLAIN/plain"));
  for (const char* variant : {"last", "plain", "guess"}) {
    KernelDef& kernel = Kernel(variant);
    kernel.op = "tanh";
    kernel.estimate = nullptr;
    kernel.comes_last = kernel.variant == "last";
    Run();
    EXPECT_EQ(variant_, kernel.comes_last ? "last" : "plain");
  }
  Run("exclude variant=plain");
  EXPECT_EQ(variant_, "guess");
}

TEST_F(ResolverTest, APredicateRefusesWithItsReason) {
  Kernel("plain");
  Kernel("picky", kFast).predicate = [](const KernelQuery& query) {
    return "not for " + ToString(query.inputs[0]);
  };
  Run();
  EXPECT_EQ(variant_, "plain");
  EXPECT_EQ(refusals_["picky"], "not for [2, 3]");
}

TEST_F(ResolverTest, NeverChangesTheDType) {
  Kernel("wide", kFast).key.dtype = DType::kFloat64;
  Kernel("plain");
  Run();
  EXPECT_EQ(variant_, "plain");
  EXPECT_EQ(refusals_["wide"], "computes float64, this op is float32");
}

TEST_F(ResolverTest, AHintAboutALayoutIsAboutTheOp) {
  Kernel("plain");
  Run("require layout=any");
  op_.attributes["data_format"] = std::string("NHWC");
  EXPECT_EQ(Run("require layout=NHWC").list->layout, Layout::kNHWC);
  Run("require layout=any");
  ExpectError(ErrorCode::kNotFound, "resolver.no_kernel",
              {"excluded by hint: require layout=NCHW"},
              [&] { Run("require layout=NCHW"); });
}

TEST_F(ResolverTest, FallsToTheCpuAndSaysSo) {
  place_ = FPGAPlace{0};
  Kernel("plain");
  const PreparedOp op = Run();
  EXPECT_EQ(op.choice().place, PlaceKey(CPUPlace()));
  EXPECT_TRUE(op.fell_back);
  EXPECT_EQ(op.reason, "no kernel that fits at fpga:0");
}

TEST_F(ResolverTest, PrefersTheExpectedPlaceToAShorterTime) {
  place_ = FPGAPlace{1};
  Kernel("plain", kFast);
  Kernel("systolic", kUsual, PlaceKind::kFPGA);
  const PreparedOp op = Run();
  EXPECT_EQ(variant_, "systolic");
  EXPECT_EQ(op.choice().place, PlaceKey(FPGAPlace{1}));
  EXPECT_EQ(op.reason, "at the expected place fpga:1");
}

TEST_F(ResolverTest, TakesNoDeviceThatNobodyAskedFor) {
  Kernel("plain");
  Kernel("systolic", kFast, PlaceKind::kFPGA);
  const PreparedOp op = Run();
  EXPECT_EQ(variant_, "plain");
  for (const Candidate& candidate : op.list->candidates) {
    EXPECT_EQ(candidate.elsewhere, candidate.kernel->variant == "systolic");
  }
  EXPECT_EQ(refusals_["systolic"],
            "not considered: the executor is at cpu (hint place=fpga:0 allows "
            "it)");
}

TEST_F(ResolverTest, AHintNamesADevice) {
  Kernel("plain");
  Kernel("systolic", kUsual, PlaceKind::kFPGA);
  EXPECT_EQ(Run("prefer place=fpga:1").choice().place, PlaceKey(FPGAPlace{1}));
  EXPECT_EQ(Run("prefer place=fpga").choice().place, PlaceKey(FPGAPlace{0}));
  EXPECT_EQ(Run("require place=fpga:1").reason,
            "hint: require place=fpga:1 (a test)");
  EXPECT_EQ(Run("other: prefer place=fpga:1").choice().place,
            PlaceKey(CPUPlace()));
}

TEST_F(ResolverTest, ADeviceThatIsNotThereIsRefused) {
  Kernel("plain");
  Kernel("systolic", kUsual, PlaceKind::kFPGA);
  Run("prefer place=fpga:7");
  EXPECT_EQ(variant_, "plain");
  EXPECT_EQ(refusals_["systolic"], "there is no device fpga:7");
}

TEST_F(ResolverTest, PreferRanksAndRequireExcludes) {
  Kernel("fast", kFast);
  Kernel("slow");
  const PreparedOp preferred = Run("prefer variant=slow");
  EXPECT_EQ(variant_, "slow");
  EXPECT_EQ(preferred.reason, "hint: prefer variant=slow (a test)");
  EXPECT_EQ(preferred.list->hints.size(), 1u);
  EXPECT_EQ(refusals_["fast"], "");
  Run("require variant=slow");
  EXPECT_EQ(refusals_["fast"],
            "excluded by hint: require variant=slow (a test)");
  Run("prefer variant=missing");
  EXPECT_EQ(variant_, "fast");
}

TEST_F(ResolverTest, TheFirstHintIsTheStrongest) {
  Kernel("a");
  Kernel("b");
  Kernel("c");
  Run("prefer variant=c; prefer variant=b");
  EXPECT_EQ(variant_, "c");
  Run("#4: prefer variant=b; prefer variant=c");
  EXPECT_EQ(variant_, "b");
  Run("@o: prefer variant=c; #4: prefer variant=b");
  EXPECT_EQ(variant_, "c");
  // A required kernel leaves a choice among the preferred ones.
  kernels_[1].key.library = "OTHER";
  kernels_[2].key.library = "OTHER";
  Run("prefer variant=c; require library=OTHER");
  EXPECT_EQ(variant_, "c");
}

TEST_F(ResolverTest, ExcludeRefusesUnlessSomethingStrongerAllows) {
  Kernel("plain");
  Kernel("fast", kFast).key.library = "OTHER";
  Run("exclude library=OTHER");
  EXPECT_EQ(variant_, "plain");
  EXPECT_EQ(refusals_["fast"],
            "excluded by hint: exclude library=OTHER (a test)");
  Run("allow library=OTHER; exclude library=OTHER");
  EXPECT_EQ(variant_, "fast");
  Run("exclude library=OTHER; allow library=OTHER");
  EXPECT_EQ(variant_, "plain");
  // It requires no place either.
  Kernel("systolic", kUsual, PlaceKind::kFPGA);
  Run("exclude place=fpga");
  EXPECT_EQ(variant_, "fast");
}

TEST_F(ResolverTest, CountsWhatPreparingTakesWhereSizesChange) {
  Kernel("slow");
  Kernel("fast", kFast, PlaceKind::kCPU, 0.01);
  Run();
  EXPECT_EQ(variant_, "fast");
  sizes_change_ = true;
  const PreparedOp op = Run();
  EXPECT_EQ(variant_, "slow");
  EXPECT_EQ(ToString(op.why), "prepared sooner");
  EXPECT_TRUE(
      op.reason.ends_with("and 10 ms estimated to prepare for each "
                          "size"))
      << op.reason;
  kernels_[1].estimate = [](const KernelQuery&) {
    return KernelWork{.bytes = kFast, .prepare_seconds = 1e-9};
  };
  Run();
  EXPECT_EQ(variant_, "fast");
}

TEST_F(ResolverTest, CountsWhatIsKeptOfParameters) {
  Kernel("slow");
  Kernel("fast", kFast);
  const auto keep = [&](double bytes) {
    kernels_[1].estimate = [bytes](const KernelQuery&) {
      return KernelWork{.bytes = kFast, .kept_bytes = bytes};
    };
  };
  keep(1e3);
  Run();
  EXPECT_EQ(variant_, "fast");
  keep(28e9);
  const PreparedOp op = Run();
  EXPECT_EQ(variant_, "slow");
  EXPECT_EQ(ToString(op.why), "keeps less memory");
  EXPECT_TRUE(op.reason.ends_with("which keeps 28 GB more of parameters"))
      << op.reason;
}

TEST_F(ResolverTest, SaysWhichLibraryIsOffOrMissing) {
  Kernel("plain");
  module_ = {"OTHER", "of_this_test", {"op"}};
  EXPECT_EQ(Run("exclude library=OTHER").list->notes,
            std::vector<std::string>{"library OTHER is off: exclude "
                                     "library=OTHER (a test)"});
  const auto notes = Run().list->notes;
  EXPECT_EQ(variant_, "plain");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0],
            "library OTHER is not there: libsluice_of_this_test.so is not "
            "beside libsluice.so");
  ExpectError(ErrorCode::kNotFound, "resolver.no_kernel",
              {"library OTHER is not there"},
              [&] { Run("require library=OTHER"); });
}

TEST_F(ResolverTest, ListsEveryRefusalWhenNothingFits) {
  Kernel("plain");
  Kernel("wide").key.dtype = DType::kFloat64;
  ExpectError(ErrorCode::kNotFound, "resolver.no_kernel",
              {"op: no kernel fits float32 at cpu",
               "op/plain (cpu float32 PLAIN): excluded by hint: require "
               "variant=tiled (a test)",
               "op/wide (cpu float64 PLAIN): computes float64"},
              [&] { Run("require variant=tiled"); });
}

TEST_F(ResolverTest, ListsOnlyTheRefusalsOfWhatIsRequired) {
  Kernel("plain");
  Kernel("tiled").key.dtype = DType::kFloat64;
  Kernel("wide").key.dtype = DType::kFloat64;
  Kernel("tiled", kFast).predicate = [](const KernelQuery&) {
    return std::string("needs tiles");
  };
  try {
    Run("require variant=tiled");
    FAIL() << "nothing fits";
  } catch (const Error& error) {
    EXPECT_EQ(error.check_id(), "resolver.no_kernel");
    EXPECT_STREQ(error.what(),
                 "op: no kernel fits float32 at cpu:\n"
                 "  op/tiled (cpu float32 PLAIN): needs tiles\n"
                 "  op/tiled (cpu float64 PLAIN): computes float64, this "
                 "op is float32\n"
                 "  and 2 others that the hint does not name");
  }
}

TEST_F(ResolverTest, SaysWhenNothingIsRegistered) {
  ExpectError(ErrorCode::kNotFound, "resolver.no_kernel",
              {"no kernel is registered"}, [&] { Run(); });
}

}  // namespace
}  // namespace sluice
