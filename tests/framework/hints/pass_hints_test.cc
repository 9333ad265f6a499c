#include "sluice/framework/hints/pass_hints.h"

#include <memory>

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/framework/plan/graph.h"
#include "sluice/framework/run/executor.h"

namespace sluice {
namespace {

using sluice::testing::Append;
using sluice::testing::ExpectError;
using sluice::testing::Floats;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Ids = std::vector<int>;

bool g_expensive = false;

class NoKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& /*context*/) const override {}
};

// x -> op 0 -> op 1 -> out, both test_add; a pass may replace both by 1 / x.
class PassHintsTest : public ::testing::Test {
 protected:
  PassHintsTest() {
    sluice::testing::UseTestOps();
    program_.Data("x", DType::kFloat32, {-1, 2});
    const std::string twice = Double("x");
    out_ = Double(twice);
  }

  std::string Double(const std::string& x) {
    return Append(&program_, "test_add", {{"X", {x}}, {"Y", {x}}});
  }

  // Whether a pass called "halving" replaces both ops, under hints.
  bool Replaces(const std::string& hints, const std::string& own_hint = "") {
    std::map<int, std::vector<KernelHint>> op_hints;
    if (!own_hint.empty()) op_hints[1] = ParseKernelHints(own_hint, "op");
    Graph graph(program_, {{"x", DType::kFloat32, {3, 2}, CPUPlace()}}, {out_},
                CPUPlace(), ParseKernelHints(hints, "a test"), op_hints);
    OpDesc op;
    op.type = "test_divide";
    op.inputs = {{"X", {"x"}}};
    op.outputs = {{"Out", {out_}}};
    const bool replaces =
        graph.BeginPass("halving") && graph.Replace({0, 1}, op);
    EXPECT_EQ(graph.order(), replaces ? Ids{1} : (Ids{0, 1}));
    remarks_ = graph.PassRemarks();
    return replaces;
  }

  Program program_;
  std::string out_;
  std::vector<std::string> remarks_;
};

TEST_F(PassHintsTest, NothingIsSaidWithoutHints) {
  EXPECT_TRUE(Replaces(""));
  EXPECT_THAT(remarks_, IsEmpty());
}

TEST_F(PassHintsTest, AHintAboutAllOpsTurnsAPassOff) {
  EXPECT_FALSE(Replaces("exclude pass=halving"));
  EXPECT_THAT(remarks_, ElementsAre("pass halving is off: exclude pass=halving "
                                    "(a test)"));
  EXPECT_TRUE(Replaces("exclude pass=doubling"));
}

TEST_F(PassHintsTest, AHintAboutOneOpKeepsItAsItIs) {
  for (const std::string& selector :
       {std::string("#1"), "@" + out_, std::string("test_add")}) {
    EXPECT_FALSE(Replaces(selector + ": exclude pass=halving")) << selector;
    EXPECT_THAT(remarks_, ElementsAre(HasSubstr(" test_add: exclude "
                                                "pass=halving (a test)")));
  }
  EXPECT_TRUE(Replaces("#2: exclude pass=halving"));
  EXPECT_FALSE(Replaces("", "exclude pass=halving"));
  EXPECT_THAT(remarks_, ElementsAre("pass halving does not change #1 test_add: "
                                    "exclude pass=halving (op)"));
}

TEST_F(PassHintsTest, TheStrongestHintDecides) {
  EXPECT_TRUE(Replaces("test_add: allow pass=halving; exclude pass=halving"));
  EXPECT_FALSE(Replaces("#0: allow pass=halving; exclude pass=halving"));
  EXPECT_FALSE(Replaces("exclude pass=halving; allow pass=halving"));
  EXPECT_TRUE(Replaces("#1: exclude pass=halving", "allow pass=halving"));
}

TEST_F(PassHintsTest, SayNothingAboutKernels) {
  const KernelHintGuard guard("exclude pass=channels_last");
  const Tensor x = Floats({1, 2}, {2, 4});
  EXPECT_EQ(Executor().Run(program_, {{"x", x}}, {out_})[0].ToVector<float>(),
            (std::vector<float>{8, 16}));
}

TEST_F(PassHintsTest, AHintThatWantsAnotherKernelIsNamed) {
  EXPECT_FALSE(Replaces("#0: require variant=wrong"));
  EXPECT_THAT(remarks_,
              ElementsAre("pass halving does not change #0 test_add, #1 "
                          "test_add: require variant=wrong (a test)"));
}

TEST_F(PassHintsTest, OpsThatTakeLessTimeApartStayApart) {
  KernelDef kernel;
  kernel.op = "test_divide";
  kernel.variant = "expensive";
  kernel.estimate = [](const KernelQuery&) {
    return KernelWork{.flops = 1e12};
  };
  kernel.predicate = [](const KernelQuery&) {
    return g_expensive ? "" : "another test";
  };
  kernel.make = [](const OpKernelConstruction&) {
    return std::make_unique<NoKernel>();
  };
  Registry::Global().AddKernel(kernel);
  g_expensive = true;
  EXPECT_FALSE(Replaces("test_divide: require variant=expensive"));
  EXPECT_THAT(remarks_, ElementsAre());
  EXPECT_TRUE(Replaces(
      "test_divide: require variant=expensive; #1: require pass=halving"));
  g_expensive = false;
}

TEST_F(PassHintsTest, RefuseWhatNoPassCanBeTold) {
  for (const char* hint :
       {"prefer pass=halving", "exclude pass=halving, library=PLAIN"}) {
    ExpectError(ErrorCode::kInvalidArgument, "hint.pass", {hint, "exclude"},
                [&] { ParseKernelHints(hint, "a test"); });
  }
  const KernelHintGuard guard("exclude pass=chanels_last");
  ExpectError(
      ErrorCode::kNotFound, "hint.unknown_pass",
      {"there is no pass chanels_last", "did you mean channels_last?"}, [&] {
        Executor().Run(program_, {{"x", Floats({1, 2}, {2, 4})}}, {out_});
      });
}

TEST(ComparableSeconds, AnEstimateIsAsFarOffAsThatOfWhatWasMeasured) {
  const PredictedTime measured{.seconds = 6, .estimate = 3, .by_records = true};
  const PredictedTime estimated{.seconds = 4, .estimate = 4};
  EXPECT_EQ(ComparableSeconds(measured, estimated), std::pair(6.0, 8.0));
  EXPECT_EQ(ComparableSeconds(estimated, measured), std::pair(8.0, 6.0));
  EXPECT_EQ(ComparableSeconds(measured, measured), std::pair(6.0, 6.0));
  EXPECT_EQ(ComparableSeconds(estimated, estimated), std::pair(4.0, 4.0));
}

}  // namespace
}  // namespace sluice
