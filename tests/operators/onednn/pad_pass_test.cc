#include <limits>

#include "tests/operators/onednn/pass_fixture.h"
#include <gmock/gmock.h>

#include "sluice/framework/inspect/explain.h"
#include "sluice/framework/program/backward.h"

namespace sluice {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using Ints = std::vector<int64_t>;
using Names = std::vector<std::string>;

// Attributes of a pad and of the convolution that reads its output.
struct PaddedConv {
  AttributeMap pad;
  AttributeMap conv = {};
  DDim x = {2, 4, 6, 5};
  DDim filter = {6, 4, 3, 3};
};

class PadPassTest : public testing::PassTest {
 protected:
  std::string Pad(const AttributeMap& attributes) {
    return Append("pad", {{"X", {"x"}}}, "Out", attributes);
  }

  std::string Conv(const std::string& image, AttributeMap attributes = {}) {
    return Append("conv2d", {{"Input", {image}}, {"Filter", {"filter"}}},
                  "Output", std::move(attributes));
  }

  std::string Make(const PaddedConv& c) {
    Parameter("filter", Ramp(c.filter));
    Data("x", Ramp(c.x));
    return Conv(Pad(c.pad), c.conv);
  }

  const Ints& PaddingsOf(const Fetches& fetches) {
    plan_ = executor_.Prepare(program_, feeds_, fetches);
    for (size_t i = 0; i < plan_->op_descs().size(); ++i) {
      const auto& op = plan_->op_descs()[i];
      if (op.type == "conv2d" || op.type == "fused_conv2d") {
        return std::get<Ints>(op.attributes.at("paddings"));
      }
    }
    static const Ints none;
    return none;
  }

 private:
  std::shared_ptr<const Plan> plan_;
};

class PadPassFoldsTest : public PadPassTest,
                         public ::testing::WithParamInterface<PaddedConv> {};

TEST_P(PadPassFoldsTest, ComputesWhatTheTwoOpsDo) {
  const std::string out = Make(GetParam());
  const KernelHintGuard as_given("exclude pass=channels_last");
  EXPECT_EQ(Types({out}), Names{"conv2d"});
  ExpectSame({out});
  ExpectRight({out});
}

INSTANTIATE_TEST_SUITE_P(
    Cases,
    PadPassFoldsTest,
    ::testing::Values(
        PaddedConv{.pad = {{"pads", Ints{0, 0, 1, 1, 0, 0, 1, 1}}}},
        PaddedConv{.pad = {{"pads", Ints{0, 0, 0, 2, 0, 0, 1, 0}}},
                   .conv = {{"strides", Ints{2, 2}}}},
        // More zeros than the filter's size.
        PaddedConv{.pad = {{"pads", Ints{0, 0, 5, 0, 0, 0, 0, 7}}}},
        PaddedConv{
            .pad = {{"pads", Ints{1, 2, 3, 0}}, {"axes", Ints{-1, 2}}},
            .conv = {{"paddings", Ints{1, 2}}, {"dilations", Ints{2, 1}}}},
        PaddedConv{
            .pad = {{"pads", Ints{0, 1, 0, 0, 0, 0, 2, 0}}, {"value", -0.0}},
            .conv = {{"paddings", Ints{0, 1, 2, 0}},
                     {"data_format", std::string("NHWC")}},
            .x = {2, 6, 5, 4}},
        // Depthwise.
        PaddedConv{.pad = {{"pads", Ints{0, 0, 0, 0, 0, 0, 1, 1}}},
                   .conv = {{"groups", int64_t{4}}, {"strides", Ints{2, 2}}},
                   .filter = {4, 1, 3, 3}},
        PaddedConv{.pad = {{"pads", Ints{0, 1, 1, 0, 0, 1, 1, 0}}},
                   .conv = {{"groups", int64_t{4}},
                            {"data_format", std::string("NHWC")}},
                   .x = {2, 6, 5, 4},
                   .filter = {4, 1, 3, 3}},
        // An image of one pixel, and pads without effect.
        PaddedConv{.pad = {{"pads", Ints{0, 0, 1, 1, 0, 0, 1, 1}}},
                   .x = {1, 4, 1, 1}},
        PaddedConv{.pad = {{"pads", Ints(8, 0)}}}),
    [](const auto& info) { return "Case" + std::to_string(info.index); });

class PadPassLeavesTest : public PadPassTest,
                          public ::testing::WithParamInterface<PaddedConv> {};

TEST_P(PadPassLeavesTest, WhatIsNoBorderOfZeros) {
  const std::string out = Make(GetParam());
  EXPECT_THAT(Types({out}), Contains("pad"));
  ExpectSame({out});
}

INSTANTIATE_TEST_SUITE_P(
    Cases,
    PadPassLeavesTest,
    ::testing::Values(
        PaddedConv{
            .pad = {{"pads", Ints{0, 0, 1, 1, 0, 0, 1, 1}}, {"value", 1e-30}}},
        PaddedConv{
            .pad = {{"pads", Ints{0, 0, 1, 1, 0, 0, 1, 1}},
                    {"value", std::numeric_limits<double>::quiet_NaN()}}},
        PaddedConv{.pad = {{"pads", Ints{0, 0, 1, 1, 0, 0, 1, 1}},
                           {"mode", std::string("edge")}}},
        PaddedConv{.pad = {{"pads", Ints{0, 0, -1, 1, 0, 0, 1, 1}}}},
        PaddedConv{.pad = {{"pads", Ints{1, 0, 1, 1, 0, 0, 1, 1}}}},
        PaddedConv{.pad = {{"pads", Ints{0, 0, 1, 1, 0, 1, 1, 1}}},
                   .x = {2, 3, 6, 5}},
        // The channels are dim 1 of the one format, dim 3 of the other.
        PaddedConv{.pad = {{"pads", Ints{0, 0, 0, 1, 0, 0, 0, 1}}},
                   .conv = {{"data_format", std::string("NHWC")}},
                   .x = {2, 6, 5, 2}}),
    [](const auto& info) { return "Case" + std::to_string(info.index); });

TEST_F(PadPassTest, AddsToThePaddingsThatAreThere) {
  const std::string out = Make({.pad = {{"pads", Ints{0, 0, 1, 2, 0, 0, 3, 2}}},
                                .conv = {{"paddings", Ints{2, 1}}}});
  EXPECT_EQ(PaddingsOf({out}), (Ints{3, 5, 3, 3}));
}

TEST_F(PadPassTest, OtherPassesTakeMoreIntoTheConvolution) {
  const std::string conv =
      Make({.pad = {{"pads", Ints{0, 0, 1, 1, 0, 0, 1, 1}}}});
  const std::string out = Append("relu", {{"X", {conv}}}, "Out");
  // Without transposes, which pay on some CPUs.
  const KernelHintGuard guard("exclude pass=channels_last");
  EXPECT_EQ(Types({out}), Names{"fused_conv2d"});
  ExpectSame({out});
}

TEST_F(PadPassTest, LeavesAnImageThatIsUsedOtherwise) {
  Parameter("filter", Ramp({6, 4, 3, 3}));
  Data("x", Ramp({2, 4, 6, 5}));
  const std::string padded = Pad({{"pads", Ints{0, 0, 1, 1, 0, 0, 1, 1}}});
  const std::string out = Conv(padded);
  const std::string relu = Append("relu", {{"X", {padded}}}, "Out");
  EXPECT_THAT(Types({out, padded}), Contains("pad"));
  ExpectSame({out, padded});
  EXPECT_THAT(Types({out, relu}), Contains("pad"));
  ExpectSame({out, relu});
}

TEST_F(PadPassTest, LeavesAFilterThatIsPadded) {
  Data("x", Ramp({4, 4, 3, 3}));
  const std::string padded = Pad({{"pads", Ints{0, 0, 1, 1, 0, 0, 1, 1}}});
  const std::string out =
      Append("conv2d", {{"Input", {padded}}, {"Filter", {padded}}}, "Output");
  EXPECT_EQ(Types({out}), (Names{"pad", "conv2d"}));
}

TEST_F(PadPassTest, GoesIntoAllConvolutionsThatReadIt) {
  Parameter("filter", Ramp({6, 4, 3, 3}));
  Data("x", Ramp({2, 4, 6, 5}));
  const std::string padded = Pad({{"pads", Ints{0, 0, 1, 1, 0, 0, 1, 1}}});
  const std::string a = Conv(padded);
  const std::string b = Conv(padded, {{"strides", Ints{2, 2}}});
  EXPECT_THAT(Types({a, b}), Not(Contains("pad")));
  ExpectSame({a, b});
}

// The scope's image changes between the pad and the convolutions.
TEST_F(PadPassTest, LeavesAnImageThatIsOverwritten) {
  Parameter("filter", Ramp({6, 4, 3, 3}));
  Parameter("x", Ramp({2, 4, 6, 5}));
  const std::string padded = Pad({{"pads", Ints{0, 0, 1, 1, 0, 0, 1, 1}}});
  OpDesc doubled;
  doubled.type = "scale";
  doubled.inputs = {{"X", {"x"}}};
  doubled.outputs = {{"Out", {"x"}}};
  doubled.attributes = {{"scale", 2.0}};
  program_.AppendOp(doubled);
  const Fetches both = {Conv(padded), Conv(padded)};
  EXPECT_THAT(Types(both), Contains("pad"));
  EXPECT_EQ(PaddingsOf(both), (Ints{0, 0}));
}

TEST_F(PadPassTest, TrainsWithoutThePad) {
  Parameter("filter", Ramp({6, 4, 3, 3}));
  Parameter("x", Ramp({2, 4, 6, 5}));
  const std::string padded = Pad({{"pads", Ints{0, 0, 0, 1, 0, 0, 2, 1}}});
  const std::string conv = Conv(padded, {{"strides", Ints{2, 1}}});
  const std::string loss = Append("mean", {{"X", {conv}}}, "Out");
  AppendBackward(program_, loss);
  const Fetches fetches = {loss, "x@GRAD", "filter@GRAD"};
  EXPECT_THAT(Types(fetches), Not(Contains("pad")));
  EXPECT_THAT(Types(fetches), Not(Contains("pad_grad")));
  ExpectSame(fetches);
  ExpectRight(fetches);
}

TEST_F(PadPassTest, IsNamedAndCanBeSwitchedOff) {
  const std::string out =
      Make({.pad = {{"pads", Ints{0, 0, 1, 1, 0, 0, 1, 1}}}});
  const auto explain = [&] {
    return ExplainText(*executor_.Prepare(program_, feeds_, {out}));
  };
  EXPECT_THAT(explain(), HasSubstr("fold_pad: 1 change"));
  const KernelHintGuard off("exclude pass=fold_pad");
  EXPECT_THAT(Types({out}), Contains("pad"));
  EXPECT_THAT(explain(), HasSubstr("pass=fold_pad"));
}

}  // namespace
}  // namespace sluice
