#include <algorithm>
#include <cmath>

#include "tests/operators/onednn/onednn_fixture.h"
#include "tests/testing/expect_error.h"

#include "sluice/framework/inspect/explain.h"
#include "sluice/framework/program/program_io.h"

namespace sluice {
namespace {

using Ints = std::vector<int64_t>;
using Names = std::vector<std::string>;

class LayoutPassTest : public testing::OneDnnTest {
 protected:
  LayoutPassTest() {
    // Kernels are chosen by estimates, even if SLUICE_ENABLE_ONEDNN=0.
    hint_.reset();
    hint_.emplace("allow library=ONEDNN");
  }

  std::string Conv(const std::string& input,
                   const std::string& filter,
                   AttributeMap attributes = {}) {
    return Append("conv2d", {{"Input", {input}}, {"Filter", {filter}}},
                  "Output", std::move(attributes));
  }
  std::string Relu(const std::string& x) {
    return Append("relu", {{"X", {x}}}, "Out");
  }
  // conv - relu - conv - relu, with sizes for which oneDNN is faster.
  std::string Chain() {
    Data("image", Ramp({2, 32, 13, 11}));
    Data("w1", Ramp({40, 32, 3, 3}));
    Data("w2", Ramp({48, 40, 3, 3}));
    middle_ = Relu(Conv("image", "w1", {{"paddings", Ints{1, 1}}}));
    return Relu(Conv(middle_, "w2"));
  }
  static Fetches Targets(const Names& names) {
    return {names.begin(), names.end()};
  }
  Names Types(const Names& names) {
    Names types;
    for (const auto& decision :
         executor_.Prepare(program_, feeds_, Targets(names))->decisions()) {
      types.push_back(decision.op);
    }
    return types;
  }
  bool Turned(const Names& names) {
    return ExplainText(*executor_.Prepare(program_, feeds_, Targets(names)))
               .find("channels_last: ") != std::string::npos;
  }
  // Results with `hint` must equal those without passes, except for rounding.
  void ExpectSame(const Names& names, const char* hint = "") {
    Executor as_written({}, {.passes = false});
    const auto want = as_written.Run(program_, feeds_, Targets(names));
    const KernelHintGuard guard(hint);
    const auto got = executor_.Run(program_, feeds_, Targets(names));
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(got[i].dims(), want[i].dims()) << names[i];
      const float* a = got[i].data<float>();
      const float* b = want[i].data<float>();
      float largest = 1;
      for (int64_t j = 0; j < want[i].numel(); ++j) {
        largest = std::max(largest, std::abs(b[j]));
      }
      for (int64_t j = 0; j < want[i].numel(); ++j) {
        ASSERT_NEAR(a[j], b[j], 1e-5 * largest) << names[i] << "[" << j << "]";
      }
    }
  }

  std::string middle_;
};

TEST_F(LayoutPassTest, TurnsAChainAndTransposesAtItsEnds) {
  const std::string out = Chain();
  EXPECT_EQ(Types({out}),
            (Names{"transpose", "fused_conv2d", "fused_conv2d", "transpose"}));
  const auto plan = executor_.Prepare(program_, feeds_, {out});
  EXPECT_NE(ExplainText(*plan).find("channels_last: "), std::string::npos);
  EXPECT_EQ(plan->decisions()[1].kernel->variant, "direct");
  ExpectSame({out});
}

TEST_F(LayoutPassTest, HintsSpeakAboutTransposesThatItAdds) {
  const std::string out = Chain();
  const auto libraries = [&] {
    std::set<std::string> libraries;
    const auto plan = executor_.Prepare(program_, feeds_, {out});
    for (const auto& decision : plan->decisions()) {
      if (decision.op == "transpose") {
        libraries.insert(decision.kernel->key.library);
      }
    }
    return libraries;
  };
  EXPECT_EQ(libraries(), std::set<std::string>{"ONEDNN"});
  const KernelHintGuard guard(
      "conv2d: require layout=NHWC; transpose: require library=PLAIN");
  EXPECT_EQ(libraries(), std::set<std::string>{"PLAIN"});
}

TEST_F(LayoutPassTest, HintsAboutAllOpsReachTransposesThatItAdds) {
  const std::string out = Chain();
  for (const char* hint :
       {"exclude variant=reorder", "prefer variant=plain, library=PLAIN"}) {
    const KernelHintGuard guard(hint);
    const auto plan = executor_.Prepare(program_, feeds_, {out});
    for (const auto& decision : plan->decisions()) {
      if (decision.op != "transpose") continue;
      EXPECT_EQ(decision.kernel->variant, "plain") << hint;
    }
  }
}

TEST_F(LayoutPassTest, OpsThatItAddsHaveNoIndexForHints) {
  const std::string out = Chain();
  const KernelHintGuard guard("#4: require library=PLAIN");
  const std::string text =
      ExplainText(*executor_.Prepare(program_, feeds_, {out}));
  EXPECT_NE(text.find("names no op of this plan"), std::string::npos) << text;
}

TEST_F(LayoutPassTest, WhatIsFetchedKeepsItsFormat) {
  const std::string out = Chain();
  const char* hint = "conv2d: require layout=NHWC";
  ExpectSame({out, middle_}, hint);
  const KernelHintGuard guard(hint);
  const Names types = Types({out, middle_});
  EXPECT_EQ(std::count(types.begin(), types.end(), "transpose"), 3);
}

TEST_F(LayoutPassTest, OneConvolutionStaysAsItIs) {
  Data("image", Ramp({2, 32, 13, 11}));
  Data("w1", Ramp({40, 32, 3, 3}));
  const std::string out = Relu(Conv("image", "w1"));
  EXPECT_EQ(Types({out}), (Names{"fused_conv2d"}));
  ExpectSame({out});
}

TEST_F(LayoutPassTest, WhatPlainKernelsDoBetterStaysAsItIs) {
  Data("image", Ramp({1, 3, 9, 7}));
  Data("w1", Ramp({4, 3, 3, 3}));
  Data("w2", Ramp({3, 4, 1, 1}));
  const std::string out = Conv(Relu(Conv("image", "w1")), "w2");
  EXPECT_FALSE(Turned({out}));
  ExpectSame({out});
}

TEST_F(LayoutPassTest, HintsAboutLayoutsAreObeyed) {
  const std::string out = Chain();
  const KernelHintGuard guard("conv2d: prefer layout=NCHW");
  EXPECT_FALSE(Turned({out}));
  ExpectSame({out});
}

// A hint applies to the call that computes the op; other fusions and layouts
// remain.
TEST_F(LayoutPassTest, AHintKeepsWhatItDoesNotSpeakOf) {
  const std::string out = Chain();
  const Names types = Types({out});
  for (const char* hint :
       {"#1: prefer variant=winograd_2x2", "#1: require variant=winograd_2x2",
        "conv2d: prefer variant=winograd_2x2",
        "conv2d: require variant=winograd_2x2",
        "fused_conv2d: prefer variant=winograd_2x2"}) {
    SCOPED_TRACE(hint);
    ExpectSame({out}, hint);
    const KernelHintGuard guard(hint);
    EXPECT_EQ(Types({out}), types);
    const auto plan = executor_.Prepare(program_, feeds_, {out});
    const auto& conv = plan->decisions()[1];
    EXPECT_EQ(conv.covered_ops, (Names{"conv2d", "relu"}));
    EXPECT_EQ(conv.kernel->variant, "winograd_2x2");
    ASSERT_EQ(conv.answers.size(), 1u);
    EXPECT_TRUE(conv.answers[0].obeyed);
  }
}

TEST_F(LayoutPassTest, APreferenceForWhatIsChosenChangesNothing) {
  const std::string out = Chain();
  const auto kernels = [&] {
    Names names;
    for (const auto& decision :
         executor_.Prepare(program_, feeds_, {out})->decisions()) {
      names.push_back(ToString(*decision.kernel));
    }
    return names;
  };
  const Names chosen = kernels();
  const auto plan = executor_.Prepare(program_, feeds_, {out});
  for (const auto& decision : plan->decisions()) {
    const KernelHintGuard guard(
        Format("#{}: prefer library={}, variant={}", decision.op_index,
               decision.kernel->key.library, decision.kernel->variant));
    EXPECT_EQ(kernels(), chosen) << decision.op;
  }
}

TEST_F(LayoutPassTest, APreferenceThatCannotBeMetSaysWhyAndChangesNothing) {
  Data("image", Ramp({1, 8, 6, 6}));
  Data("w1", Ramp({8, 8, 1, 1}));
  const std::string out = Relu(Conv("image", "w1"));
  const Names types = Types({out});
  const KernelHintGuard guard("conv2d: prefer variant=winograd_2x2");
  EXPECT_EQ(Types({out}), types);
  const std::string text =
      ExplainText(*executor_.Prepare(program_, feeds_, {out}));
  EXPECT_NE(text.find("hint \"conv2d: prefer variant=winograd_2x2 (scope "
                      "guard)\" is not obeyed; op 0 (conv2d): "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("needs NHWC and filters of 3x3"), std::string::npos);
}

TEST_F(LayoutPassTest, AFusedOpSaysWhyItsOpByItselfDoesNotObey) {
  Data("image", Ramp({2, 32, 13, 3}));  // rows of less than a vector
  Data("w1", Ramp({40, 32, 3, 3}));
  const std::string out = Relu(Conv("image", "w1", {{"paddings", Ints{1, 1}}}));
  const KernelHintGuard guard("#0: prefer variant=rows");
  const std::string text =
      ExplainText(*executor_.Prepare(program_, feeds_, {out}));
  EXPECT_NE(text.find("no kernel of fused_conv2d fits; op 0 (conv2d) by "
                      "itself: conv2d/rows (cpu float32 PLAIN) is refused: "
                      "needs NCHW and rows of at least "),
            std::string::npos)
      << text;
}

TEST_F(LayoutPassTest, APreferenceThatARequirementOverrulesChangesNothing) {
  const std::string out = Chain();
  const char* require = "#0: require library=ONEDNN, variant=direct";
  const KernelHintGuard guard(require);
  const Names types = Types({out});
  EXPECT_EQ(std::count(types.begin(), types.end(), "fused_conv2d"), 2);
  const KernelHintGuard inner("#0: prefer variant=blocked");
  EXPECT_EQ(Types({out}), types);
}

TEST_F(LayoutPassTest, APreferenceThatDecidesIsTheReason) {
  const std::string out = Chain();
  const KernelHintGuard guard("conv2d: prefer library=PLAIN");
  const auto plan = executor_.Prepare(program_, feeds_, {out});
  for (const auto& decision : plan->decisions()) {
    if (decision.op != "fused_conv2d") continue;
    EXPECT_EQ(decision.reason.find("hint: prefer library=PLAIN"), 0u)
        << decision.reason;
  }
}

// One fused op has the kernel and another does not; its ops are left apart.
TEST_F(LayoutPassTest, OpsAreLeftApartOnlyForAKernelThatTheyHaveThen) {
  Data("image", Ramp({2, 32, 13, 40}));
  Data("w1", Ramp({40, 32, 3, 3}));
  Data("w2", Ramp({48, 40, 3, 3}));
  const std::string out = Relu(Conv(Relu(Conv("image", "w1")), "w2"));
  const KernelHintGuard guard("#2: require variant=rows");
  const auto plan = executor_.Prepare(program_, feeds_, {out});
  bool found = false;
  for (const auto& decision : plan->decisions()) {
    found |= decision.kernel->variant == "rows";
  }
  EXPECT_TRUE(found);
  ExpectSame({out});
}

TEST_F(LayoutPassTest, HintsThatOnlyExcludeAVariantAreNoWish) {
  const std::string out = Chain();
  const KernelHintGuard guard("conv2d: exclude variant=rows");
  EXPECT_TRUE(Turned({out}));
  ExpectSame({out});
}

TEST_F(LayoutPassTest, AVariantMayBeWishedForTogetherWithALayout) {
  Data("image", Ramp({2, 32, 13, 11}));
  Data("w1", Ramp({40, 32, 3, 3}));
  const std::string out = Conv("image", "w1");
  hint_.reset();
  const char* hint = "conv2d: require variant=winograd_4x4, layout=NHWC";
  ExpectSame({out}, hint);
  const KernelHintGuard guard(hint);
  EXPECT_EQ(Types({out}), (Names{"transpose", "conv2d", "transpose"}));
}

TEST_F(LayoutPassTest, AVariantThatTakesTheOpInNoLayoutSaysWhy) {
  Data("image", Ramp({1, 8, 6, 6}));
  Data("w1", Ramp({8, 8, 1, 1}));
  const std::string out = Conv("image", "w1");
  const KernelHintGuard guard(
      "conv2d: require variant=winograd_2x2, layout=NHWC");
  testing::ExpectError(
      ErrorCode::kNotFound, "resolver.no_kernel",
      {"winograd_2x2 (cpu float32 PLAIN): needs NHWC and filters of 3x3",
       "got NCHW, 1x1",
       "(hint: require variant=winograd_2x2, layout=NHWC (scope guard))",
       "others that the hint does not name"},
      [&] { Types({out}); });
}

TEST_F(LayoutPassTest, ListsWithAnEntryForEachDimAreTurned) {
  Data("image", Ramp({1, 32, 13, 11}));
  Data("w1", Ramp({40, 32, 3, 3}));
  Data("w2", Ramp({16, 40, 3, 3}));
  const std::string small = Conv("image", "w1");
  const std::string sizes =
      Append("resize", {{"X", {small}}}, "Out",
             {{"sizes", std::vector<int64_t>{1, 40, 26, 33}}});
  const std::string scales =
      Append("resize", {{"X", {sizes}}}, "Out",
             {{"scales", std::vector<double>{1, 1, 0.5, 2}}});
  const std::string out = Conv(scales, "w2");
  EXPECT_TRUE(Turned({out}));
  EXPECT_EQ(Types({out}), (Names{"transpose", "conv2d", "resize", "resize",
                                 "conv2d", "transpose"}));
  ExpectSame({out});
}

TEST_F(LayoutPassTest, AHintDemandsALayout) {
  Data("image", Ramp({2, 32, 13, 11}));
  Data("w1", Ramp({40, 32, 3, 3}));
  const std::string out = Conv("image", "w1");
  EXPECT_EQ(Types({out}), (Names{"conv2d"}));
  const char* hint = "conv2d: require layout=NHWC";
  ExpectSame({out}, hint);
  const KernelHintGuard guard(hint);
  EXPECT_EQ(Types({out}), (Names{"transpose", "conv2d", "transpose"}));
}

// Two branches of one image, one of which must be converted.
TEST_F(LayoutPassTest, TheCheaperPlaceForATransposeIsFound) {
  Data("image", Ramp({1, 4, 9, 9}));
  Data("w1", Ramp({512, 4, 1, 1}));
  Data("w2", Ramp({4, 512, 1, 1}));
  const std::string wide = Relu(Conv("image", "w1"));
  const std::string narrow = Conv(wide, "w2");
  const KernelHintGuard guard(
      "#2: require layout=NHWC; exclude library=ONEDNN");
  const Names types = Types({narrow});
  // The image before the first convolution has fewer elements.
  EXPECT_EQ(types.front(), "transpose");
  EXPECT_EQ(std::count(types.begin(), types.end(), "transpose"), 2);
}

TEST_F(LayoutPassTest, PoolingsSumsAndFormsOfOnePixelComeAlong) {
  const std::string out = Chain();
  Data("w3", Ramp({48, 48, 3, 3}));
  const std::string third = Conv(out, "w3", {{"paddings", Ints{1, 1}}});
  const std::string sum =
      Append("elementwise_add", {{"X", {out}}, {"Y", {third}}}, "Out");
  const std::string pool =
      Append("pool2d", {{"X", {sum}}}, "Out",
             {{"ksize", Ints{3, 2}}, {"strides", Ints{2, 2}}});
  const std::string global =
      Append("pool2d", {{"X", {pool}}}, "Out",
             {{"global_pooling", true}, {"pooling_type", std::string("avg")}});
  const Names types = Types({global});
  EXPECT_EQ(std::count(types.begin(), types.end(), "transpose"), 1);
  // One pixel has the same memory layout in both formats.
  EXPECT_EQ(types.back(), "reshape");
  ExpectSame({global});
}

// A gate for each channel, and one number: squeeze and excite.
TEST_F(LayoutPassTest, GatesComeAlong) {
  const std::string out = Chain();
  Data("w3", Ramp({48, 48, 3, 3}));
  Data("number", Ramp({1}));
  const std::string pooled =
      Append("pool2d", {{"X", {out}}}, "Out",
             {{"global_pooling", true}, {"pooling_type", std::string("avg")}});
  const std::string gate = Append("sigmoid", {{"X", {pooled}}}, "Out");
  const std::string gated =
      Append("elementwise_mul", {{"X", {out}}, {"Y", {gate}}}, "Out");
  const std::string sum =
      Append("elementwise_add", {{"X", {gated}}, {"Y", {"number"}}}, "Out");
  const std::string third = Conv(sum, "w3");
  const Names types = Types({third});
  // Only the image and the fetch are transposed.
  EXPECT_EQ(types.front(), "transpose");
  EXPECT_EQ(types.back(), "transpose");
  EXPECT_EQ(std::count(types.begin(), types.end(), "transpose"), 2);
  ExpectSame({third});
}

TEST_F(LayoutPassTest, ANumberPerChannelComesAlong) {
  const std::string out = Chain();
  Data("scale", Ramp({48}));
  Data("w3", Ramp({48, 48, 3, 3}));
  const std::string scaled =
      Append("elementwise_mul", {{"X", {out}}, {"Y", {"scale"}}}, "Out",
             {{"axis", int64_t{1}}});
  const std::string third = Conv(scaled, "w3");
  const Names types = Types({third});
  EXPECT_EQ(types.front(), "transpose");
  EXPECT_EQ(types.back(), "transpose");
  EXPECT_EQ(std::count(types.begin(), types.end(), "transpose"), 2);
  ExpectSame({third});
}

// An op that broadcasts along another axis must see the original axes.
TEST_F(LayoutPassTest, ANumberPerRowStaysOutside) {
  const std::string out = Chain();
  Data("scale", Ramp({11}));
  const std::string scaled =
      Append("elementwise_mul", {{"X", {out}}, {"Y", {"scale"}}}, "Out",
             {{"axis", int64_t{2}}});
  EXPECT_TRUE(Turned({scaled}));
  ExpectSame({scaled});
}

// Gradients of a small network, with the images that the forward ops kept.
TEST_F(LayoutPassTest, GradientsAreTurnedWithTheirForwardOps) {
  const std::string out = Chain();
  const std::string pool =
      Append("pool2d", {{"X", {out}}}, "Out",
             {{"ksize", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  Data("grad", Ramp(program_.FindVar(pool).dims));
  const auto grads = [&](const std::string& op, const std::string& input,
                         const std::string& filter, const std::string& grad,
                         const std::string& what, int padding) {
    return Append(
        op, {{"Input", {input}}, {"Filter", {filter}}, {"Output@GRAD", {grad}}},
        what, {{"paddings", Ints{padding, padding}}});
  };
  const std::string pooled = Append(
      "pool2d_grad", {{"X", {out}}, {"Out", {pool}}, {"Out@GRAD", {"grad"}}},
      "X@GRAD", {{"ksize", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  const std::string second =
      Append("relu_grad", {{"Out", {out}}, {"Out@GRAD", {pooled}}}, "X@GRAD");
  const std::string w2 =
      grads("conv2d_grad_filter", middle_, "w2", second, "Filter@GRAD", 0);
  const std::string between =
      grads("conv2d_grad_input", middle_, "w2", second, "Input@GRAD", 0);
  const std::string first = Append(
      "relu_grad", {{"Out", {middle_}}, {"Out@GRAD", {between}}}, "X@GRAD");
  const std::string w1 =
      grads("conv2d_grad_filter", "image", "w1", first, "Filter@GRAD", 1);
  const std::string image =
      grads("conv2d_grad_input", "image", "w1", first, "Input@GRAD", 1);
  const Names types = Types({pool, w1, w2, image});
  // Two each: inputs (image, gradient) and outputs (pooled image, gradient).
  EXPECT_EQ(std::count(types.begin(), types.end(), "transpose"), 4);
  EXPECT_EQ(std::count(types.begin(), types.end(), "relu_pool2d_grad"), 1);
  ExpectSame({pool, w1, w2, image});
}

TEST_F(LayoutPassTest, IsInNoProgram) {
  const std::string out = Chain();
  const std::string before = SerializeProgram(program_);
  executor_.Run(program_, feeds_, {out});
  EXPECT_EQ(SerializeProgram(program_), before);
  EXPECT_EQ(before.find("NHWC"), std::string::npos);
}

}  // namespace
}  // namespace sluice
