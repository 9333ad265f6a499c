#include <algorithm>
#include <limits>

#include "tests/operators/onednn/pass_fixture.h"

#include "sluice/framework/inspect/explain.h"
#include "sluice/framework/program/program_io.h"

namespace sluice {
namespace {

using Names = std::vector<std::string>;

struct Case {
  bool nhwc = false;
  int64_t batch = 2, channels = 6, out = 10, height = 9, width = 7, kernel = 3,
          groups = 1;
  bool bias = false;
};

class FoldPassTest : public testing::PassTest {
 protected:
  // Numbers between 0.5 and 1.5.
  static Tensor Positive(const DDim& dims) {
    Tensor tensor = Ramp(dims);
    for (int64_t i = 0; i < tensor.numel(); ++i) {
      tensor.data<float>()[i] = 1 + tensor.data<float>()[i] / 2;
    }
    return tensor;
  }

  void Parameters(const Case& c) {
    Parameter("filter",
              Ramp({c.out, c.channels / c.groups, c.kernel, c.kernel}));
    Parameter("conv_bias", Ramp({c.out}));
    Parameter("scale", Positive({c.out}));
    Parameter("shift", Ramp({c.out}));
    Parameter("mean", Ramp({c.out}));
    Parameter("variance", Positive({c.out}));
    Data("x", c.nhwc ? Ramp({c.batch, c.height, c.width, c.channels})
                     : Ramp({c.batch, c.channels, c.height, c.width}));
  }

  std::string Conv(const Case& c) {
    Program::ArgList inputs = {{"Input", {"x"}}, {"Filter", {"filter"}}};
    if (c.bias) inputs.push_back({"Bias", {"conv_bias"}});
    return Append("conv2d", inputs, "Output",
                  {{"data_format", Format(c)},
                   {"groups", c.groups},
                   {"paddings", std::vector<int64_t>{1, 0}}});
  }

  std::string Norm(const std::string& x, const Case& c, bool is_test = true) {
    OpDesc op;
    op.type = "batch_norm";
    op.inputs = {{"X", {x}},
                 {"Scale", {"scale"}},
                 {"Bias", {"shift"}},
                 {"Mean", {"mean"}},
                 {"Variance", {"variance"}}};
    const std::string n = std::to_string(norms_++);
    op.outputs = {{"Y", {"y" + n}},
                  {"SavedMean", {"saved_mean" + n}},
                  {"SavedVariance", {"saved_variance" + n}}};
    op.attributes = {
        {"is_test", is_test}, {"epsilon", 1e-3}, {"data_format", Format(c)}};
    program_.AppendOp(op);
    return "y" + n;
  }

  std::string Relu(const std::string& x) {
    return Append("relu", {{"X", {x}}}, "Out");
  }

  static std::string Format(const Case& c) { return c.nhwc ? "NHWC" : "NCHW"; }

  Tensor& At(const char* parameter) {
    return *scope_.Var(parameter).GetMutable<Tensor>();
  }

 private:
  int norms_ = 0;
};

class FoldPassSizesTest : public FoldPassTest,
                          public ::testing::WithParamInterface<Case> {};

TEST_P(FoldPassSizesTest, ComputesWhatTheThreeOpsDo) {
  const Case& c = GetParam();
  Parameters(c);
  const KernelHintGuard as_given("conv2d: prefer layout=" + Format(c));
  const std::string y = Norm(Conv(c), c);
  EXPECT_EQ(Types({y}), Names{"fused_conv2d"});
  ExpectSame({y});
  const std::string out = Relu(y);
  EXPECT_EQ(Types({out}), Names{"fused_conv2d"});
  ExpectSame({out});
  ExpectRight({out});
}

INSTANTIATE_TEST_SUITE_P(
    Sizes,
    FoldPassSizesTest,
    ::testing::Values(
        Case{},
        Case{.nhwc = true},
        Case{.channels = 1, .out = 1, .kernel = 1},
        Case{.nhwc = true, .channels = 1, .out = 1, .kernel = 1},
        Case{.batch = 1, .channels = 3, .out = 5, .height = 1, .width = 3},
        Case{.channels = 32, .out = 33, .kernel = 1},
        Case{.groups = 2, .bias = true},
        Case{.nhwc = true, .groups = 2},
        Case{.nhwc = true, .channels = 5, .out = 5, .groups = 5}),
    [](const auto& info) { return "Case" + std::to_string(info.index); });

TEST_F(FoldPassTest, EmptyImagesStayWithPlainKernels) {
  const Case c{.batch = 0};
  Parameters(c);
  const std::string out = Relu(Norm(Conv(c), c));
  EXPECT_EQ(Types({out}), (Names{"conv2d", "fused_batch_norm"}));
  ExpectSame({out});
}

// A separate op adds a bias before the batch norm.
TEST_F(FoldPassTest, TakesABiasThatWasAddedBefore) {
  const Case c;
  Parameters(c);
  const auto sum =
      Append("bias_add", {{"X", {Conv(c)}}, {"Bias", {"conv_bias"}}}, "Out");
  const std::string out = Relu(Norm(sum, c));
  EXPECT_EQ(Types({out}), Names{"fused_conv2d"});
  ExpectSame({out});
}

TEST_F(FoldPassTest, FoldsOnceForEachVersionOfTheParameters) {
  const Case c{.nhwc = true, .bias = true};
  Parameters(c);
  const std::string out = Relu(Norm(Conv(c), c));
  const int64_t packed = Count("weights.packed");
  Run({out});
  EXPECT_EQ(Count("weights.packed"), packed + 2);
  const int64_t misses = Count("onednn.cache_misses");
  for (int run = 0; run < 3; ++run)
    Run({out});
  EXPECT_EQ(Count("weights.packed"), packed + 2);
  EXPECT_EQ(Count("onednn.cache_misses"), misses);
}

TEST_F(FoldPassTest, FoldsAgainWhenAnyParameterChanges) {
  const Case c{.bias = true};
  Parameters(c);
  const std::string out = Norm(Conv(c), c);
  ExpectSame({out});
  for (const char* parameter :
       {"filter", "conv_bias", "scale", "shift", "mean", "variance"}) {
    const auto before = Run({out})[0].ToVector<float>();
    At(parameter).data<float>()[1] += 0.75F;
    EXPECT_NE(Run({out})[0].ToVector<float>(), before) << parameter;
    ExpectSame({out});
    // Replaces the tensor.
    At(parameter) = At(parameter).CopyTo(CPUPlace());
    At(parameter).data<float>()[0] += 0.5F;
    ExpectSame({out});
  }
}

TEST_F(FoldPassTest, LeavesAConvolutionThatSomebodySees) {
  const Case c;
  Parameters(c);
  const std::string conv = Conv(c);
  const std::string y = Norm(conv, c);
  const std::string out = Relu(y);
  const Names apart = {"conv2d", "fused_batch_norm"};
  EXPECT_EQ(Types({out, conv}), apart);
  ExpectSame({out, conv});
  EXPECT_EQ(Types({out, "saved_mean0"}), apart);
  ExpectSame({out, "saved_mean0"});
  // The batch norm's output can still be fetched.
  EXPECT_EQ(Types({out, y}), (Names{"fused_conv2d", "relu"}));
  ExpectSame({out, y});
}

TEST_F(FoldPassTest, LeavesABatchNormThatTrains) {
  const Case c;
  Parameters(c);
  const std::string out = Relu(Norm(Conv(c), c, /*is_test=*/false));
  EXPECT_EQ(Types({out}), (Names{"conv2d", "fused_batch_norm"}));
  ExpectSame({out});
}

TEST_F(FoldPassTest, LeavesStatisticsThatAreFed) {
  const Case c;
  Parameters(c);
  const std::string conv = Conv(c);
  Data("fed_mean", Ramp({c.out}));
  OpDesc op;
  op.type = "batch_norm";
  op.inputs = {{"X", {conv}},
               {"Scale", {"scale"}},
               {"Bias", {"shift"}},
               {"Mean", {"fed_mean"}},
               {"Variance", {"variance"}}};
  op.outputs = {{"Y", {"y"}},
                {"SavedMean", {"saved_mean"}},
                {"SavedVariance", {"saved_variance"}}};
  op.attributes = {{"is_test", true}};
  program_.AppendOp(op);
  EXPECT_EQ(Types({"y"}), (Names{"conv2d", "batch_norm"}));
  ExpectSame({"y"});
}

TEST_F(FoldPassTest, LeavesParametersThatTheProgramWrites) {
  const Case c;
  Parameters(c);
  const std::string y = Norm(Conv(c), c);
  OpDesc op;
  op.type = "scale";
  op.inputs = {{"X", {"variance"}}};
  op.outputs = {{"Out", {"variance"}}};
  program_.AppendOp(op);
  EXPECT_EQ(Types({y}), (Names{"conv2d", "batch_norm", "scale"}));
}

TEST_F(FoldPassTest, LeavesOtherLayoutsAlone) {
  const Case c{.channels = 7, .out = 7, .height = 7, .width = 9};
  Parameters(c);
  Case other = c;
  other.nhwc = true;
  const KernelHintGuard as_given("conv2d: prefer layout=NCHW");
  const std::string y = Norm(Conv(c), other);
  EXPECT_EQ(Types({y}), (Names{"conv2d", "batch_norm"}));
  ExpectSame({y});
}

TEST_F(FoldPassTest, FoldsWhatHasAKernelOnlyWhenItIsTurned) {
  const Case c{};
  Parameters(c);
  const std::string out = Relu(Norm(Conv(c), c));
  Tensor got;
  {
    const KernelHintGuard turned(
        "conv2d: require layout=NHWC; batch_norm: require layout=NHWC");
    const Names types = Types({out});
    EXPECT_EQ(std::count(types.begin(), types.end(), "fused_conv2d"), 1);
    EXPECT_EQ(std::count(types.begin(), types.end(), "batch_norm"), 0);
    got = Run({out})[0];
  }
  const Tensor want = Run({out})[0];
  for (int64_t i = 0; i < want.numel(); ++i) {
    ASSERT_NEAR(got.data<float>()[i], want.data<float>()[i], 1e-5) << i;
  }
}

TEST_F(FoldPassTest, HintsAndTheSwitchKeepTheOpsApart) {
  const Case c;
  Parameters(c);
  const std::string out = Relu(Norm(Conv(c), c));
  for (const char* hint :
       {"exclude library=ONEDNN", "batch_norm: require variant=plain",
        "conv2d: require variant=plain"}) {
    const KernelHintGuard guard(hint);
    EXPECT_EQ(Types({out}), (Names{"conv2d", "fused_batch_norm"})) << hint;
    ExpectSame({out});
  }
}

TEST_F(FoldPassTest, ExplainSaysWhatWasFolded) {
  const Case c;
  Parameters(c);
  const std::string out = Relu(Norm(Conv(c), c));
  const auto plan = executor_.Prepare(program_, feeds_, {out});
  const std::string text = ExplainText(*plan);
  for (const char* part :
       {"fold_batch_norm: 1 change", "fuse_activations: 1 change",
        "includes ops 0 (conv2d), 1 (batch_norm)"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_EQ(ToString(program_).find("fused_"), std::string::npos);
  EXPECT_EQ(SerializeProgram(program_).find("fused_"), std::string::npos);
}

TEST_F(FoldPassTest, KeepsNaN) {
  const Case c{.nhwc = true, .channels = 16, .out = 16};
  Parameters(c);
  const std::string out = Relu(Norm(Conv(c), c));
  feeds_[0].second.data<float>()[40] = std::numeric_limits<float>::quiet_NaN();
  ExpectSame({out});
  feeds_[0].second = Ramp(feeds_[0].second.dims());
  At("variance").data<float>()[3] = -1;  // its root
  ExpectSame({out});
}

}  // namespace
}  // namespace sluice
