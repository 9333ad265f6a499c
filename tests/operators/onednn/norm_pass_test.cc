#include <limits>

#include "tests/operators/onednn/pass_fixture.h"
#include <gmock/gmock.h>

#include "sluice/framework/costs/cost_model.h"
#include "sluice/framework/costs/machine_figures.h"
#include "sluice/framework/inspect/explain.h"
#include "sluice/framework/program/backward.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using Names = std::vector<std::string>;

struct NormCase {
  DDim x;
  bool nhwc = false;
  bool is_test = false;
};

// A batch_norm, an addition to it, and a relu.
class NormPassTest : public testing::PassTest {
 protected:
  void Parameters(const NormCase& c) {
    const int64_t channels = c.x[c.nhwc ? c.x.rank() - 1 : 1];
    for (const char* name : {"scale", "shift", "mean"}) {
      Parameter(name, Ramp({channels}));
    }
    Tensor variance = Ramp({channels});
    for (int64_t i = 0; i < channels; ++i) {
      variance.data<float>()[i] += 1.5F;
    }
    Parameter("variance", variance);
    Parameter("x", Ramp(c.x));
    Tensor z = Ramp(c.x);
    for (int64_t i = 0; i < z.numel(); ++i) {
      z.data<float>()[i] *= static_cast<float>(i % 5) - 2;
    }
    Parameter("z", z);
  }

  std::string Norm(const NormCase& c, const std::string& x = "x") {
    OpDesc op;
    op.type = "batch_norm";
    op.inputs = {{"X", {x}},
                 {"Scale", {"scale"}},
                 {"Bias", {"shift"}},
                 {"Mean", {"mean"}},
                 {"Variance", {"variance"}}};
    op.outputs = {{"MeanOut", {"mean_out"}},
                  {"VarianceOut", {"variance_out"}},
                  {"SavedMean", {"saved_mean"}},
                  {"SavedVariance", {"saved_variance"}},
                  {"Y", {"y"}}};
    op.attributes = {{"is_test", c.is_test},
                     {"data_format", std::string(c.nhwc ? "NHWC" : "NCHW")}};
    program_.AppendOp(op);
    return "y";
  }

  std::string Add(const std::string& x, const std::string& y) {
    return Append("elementwise_add", {{"X", {x}}, {"Y", {y}}}, "Out");
  }
  std::string Relu(const std::string& x) {
    return Append("relu", {{"X", {x}}}, "Out");
  }

  // The mean of the products of `out` and numbers that differ.
  std::string Loss(const std::string& out, const DDim& dims) {
    Data("weights", Ramp(dims));
    const std::string product =
        Append("elementwise_mul", {{"X", {out}}, {"Y", {"weights"}}}, "Out");
    const std::string loss = Append("mean", {{"X", {product}}}, "Out");
    AppendBackward(program_, loss);
    return loss;
  }

  void ExpectFusedGradient(const Fetches& fetches) {
    const Names types = Types(fetches);
    EXPECT_THAT(types, Contains("fused_batch_norm_grad"));
    EXPECT_THAT(types, Not(Contains("batch_norm_grad")));
    EXPECT_THAT(types, Not(Contains("relu_grad")));
    EXPECT_THAT(types, Not(Contains("elementwise_add_grad")));
    ExpectSame(fetches);
    ExpectRight(fetches);
  }
};

// A machine on which an op that reads less always pays.
class SlowMemory final : public CostModel {
 public:
  MachineFigures Figures(int num_threads) const override {
    MachineFigures figures = DerivedFigures("AVX2", num_threads);
    figures.bytes = {.l1 = 1e9, .l2 = 1e9, .l3 = 1e9, .memory = 1e9};
    figures.bytes_all_threads = figures.bytes;
    return figures;
  }
  std::unique_ptr<CandidateCosts> Begin(int /*num_threads*/) const override {
    return nullptr;
  }
  uint64_t generation() const override { return 0; }
};

class NormPassSizesTest : public NormPassTest,
                          public ::testing::WithParamInterface<NormCase> {
 protected:
  NormPassSizesTest() {
    static const SlowMemory kSlowMemory;
    SetCostModel(&kSlowMemory);
  }
  ~NormPassSizesTest() override { SetCostModel(before_); }

  const CostModel* const before_ = &ActiveCostModel();
  const KernelHintGuard as_given_{"exclude pass=channels_last"};
  const Fetches statistics_ = {"mean_out", "variance_out", "saved_mean",
                               "saved_variance"};
};

TEST_P(NormPassSizesTest, SumAndActivationGoIntoTheNorm) {
  const NormCase& c = GetParam();
  Parameters(c);
  const std::string out = Relu(Add("z", Norm(c)));
  Fetches fetches = statistics_;
  fetches.push_back(out);
  EXPECT_EQ(Types(fetches), Names{"fused_batch_norm"});
  ExpectSame(fetches);
  ExpectRight(fetches);
}

TEST_P(NormPassSizesTest, TheirGradientsGoIntoItsGradient) {
  const NormCase& c = GetParam();
  Parameters(c);
  const std::string out = Relu(Add(Norm(c), "z"));
  const std::string loss = Loss(out, c.x);
  ExpectFusedGradient(
      {loss, "x@GRAD", "z@GRAD", "scale@GRAD", "shift@GRAD", "saved_mean"});
}

TEST_P(NormPassSizesTest, TheGradientOfAnActivationAloneDoes) {
  const NormCase& c = GetParam();
  Parameters(c);
  const std::string loss = Loss(Relu(Norm(c)), c.x);
  ExpectFusedGradient({loss, "x@GRAD", "scale@GRAD", "shift@GRAD"});
}

// More than a block, more rows than one thread sums, and single elements.
INSTANTIATE_TEST_SUITE_P(
    Sizes,
    NormPassSizesTest,
    ::testing::Values(NormCase{.x = {2, 3, 50, 60}},
                      NormCase{.x = {5, 30, 31, 5}, .nhwc = true},
                      NormCase{.x = {3, 2, 2, 137}, .nhwc = true},
                      NormCase{.x = {3, 7, 5, 4}, .is_test = true},
                      NormCase{
                          .x = {3, 5, 4, 7}, .nhwc = true, .is_test = true},
                      NormCase{.x = {20, 19}},
                      NormCase{.x = {4, 1, 1, 1}}),
    [](const auto& info) { return "Case" + std::to_string(info.index); });

TEST_F(NormPassTest, KeepsNaNAndInfinity) {
  const NormCase c{.x = {2, 3, 5, 5}};
  Parameters(c);
  auto* x = scope_.Var("x").GetMutable<Tensor>()->data<float>();
  x[3] = std::numeric_limits<float>::quiet_NaN();
  auto* z = scope_.Var("z").GetMutable<Tensor>()->data<float>();
  z[30] = std::numeric_limits<float>::infinity();
  z[55] = std::numeric_limits<float>::quiet_NaN();
  const std::string loss = Loss(Relu(Add(Norm(c), "z")), c.x);
  ExpectSame({loss, "x@GRAD", "z@GRAD", "scale@GRAD", "shift@GRAD"});
}

TEST_F(NormPassTest, AddsTheSumsOfSeveralThreadsInTheSameOrder) {
  const NormCase c{.x = {5, 30, 31, 5}, .nhwc = true};
  Parameters(c);
  const std::string loss = Loss(Relu(Add(Norm(c), "z")), c.x);
  const Fetches fetches = {"x@GRAD", "z@GRAD", "scale@GRAD"};
  std::vector<std::vector<float>> one;
  {
    const ThreadCountGuard threads(1);
    for (const Tensor& tensor : Run(fetches)) {
      one.push_back(tensor.ToVector<float>());
    }
  }
  const ThreadCountGuard threads(4);
  const auto four = Run(fetches);
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(four[i].ToVector<float>(), one[i]);
  }
}

// As in a residual network: the added value is the norm's own input.
TEST_F(NormPassTest, AddsTheInputItself) {
  const NormCase c{.x = {2, 3, 5, 4}};
  Parameters(c);
  const std::string loss = Loss(Relu(Add(Norm(c), "x")), c.x);
  ExpectFusedGradient({loss, "x@GRAD", "scale@GRAD"});
}

TEST_F(NormPassTest, LeavesWhatIsReadElsewhere) {
  const NormCase c{.x = {2, 3, 5, 4}};
  Parameters(c);
  const std::string y = Norm(c);
  const std::string sum = Add(y, "z");
  const std::string loss = Loss(Relu(sum), c.x);
  for (const std::string& seen : {y + "@GRAD", sum + "@GRAD"}) {
    EXPECT_THAT(Types({loss, "x@GRAD", seen}), Contains("batch_norm_grad"));
    ExpectSame({loss, "x@GRAD", seen});
  }
  EXPECT_THAT(Types({loss, y}), Contains("batch_norm"));
  ExpectSame({loss, y});
}

TEST_F(NormPassTest, LeavesASummandThatRepeats) {
  const NormCase c{.x = {2, 3, 5, 20}};
  Parameters(c);
  Parameter("row", Ramp({20}));
  const std::string loss = Loss(Relu(Add(Norm(c), "row")), c.x);
  const Fetches fetches = {loss, "x@GRAD", "row@GRAD"};
  EXPECT_THAT(Types(fetches), Contains("batch_norm_grad"));
  EXPECT_THAT(Types(fetches), Contains("fused_batch_norm"));
  ExpectSame(fetches);
}

// A statistic is read between the batch norm and the relu.
TEST_F(NormPassTest, LeavesANormWhoseStatisticsAreReadBefore) {
  const NormCase c{.x = {2, 3, 5, 4}};
  Parameters(c);
  const std::string y = Norm(c);
  const std::string spread = Append("reshape", {{"X", {"saved_mean"}}}, "Out",
                                    {{"shape", std::vector<int64_t>{3, 1, 1}}});
  const std::string doubled = Append("exp", {{"X", {spread}}}, "Out");
  const std::string out =
      Relu(Append("elementwise_div", {{"X", {y}}, {"Y", {doubled}}}, "Out"));
  EXPECT_THAT(Types({out}), Contains("batch_norm"));
  ExpectSame({out});
}

TEST_F(NormPassTest, IsNamedAndCanBeSwitchedOff) {
  const NormCase c{.x = {2, 3, 5, 4}};
  Parameters(c);
  const std::string loss = Loss(Relu(Add(Norm(c), "z")), c.x);
  const Fetches fetches = {loss, "x@GRAD"};
  const auto plan = executor_.Prepare(program_, feeds_, fetches);
  EXPECT_THAT(ExplainText(*plan), HasSubstr("fuse_norm_grad: 1 change"));
  const KernelHintGuard off(
      "exclude pass=fuse_norm_grad; exclude pass=fuse_turned");
  EXPECT_THAT(Types(fetches), Contains("batch_norm"));
  EXPECT_THAT(Types(fetches), Contains("batch_norm_grad"));
}

}  // namespace
}  // namespace sluice
