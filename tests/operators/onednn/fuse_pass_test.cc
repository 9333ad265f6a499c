#include <map>

#include "tests/operators/onednn/onednn_fixture.h"
#include "tests/testing/expect_error.h"

#include "sluice/framework/inspect/explain.h"
#include "sluice/framework/program/program_io.h"
#include "sluice/framework/registry.h"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::Executor;
using framework::Fetches;
using framework::KernelHintGuard;
using framework::Plan;
using framework::Tensor;
using platform::ErrorCode;
using sluice::testing::ExpectError;

class FusePassTest : public testing::OneDnnTest {
 protected:
  FusePassTest() {
    // At these sizes the plain kernels would be chosen, and nothing fused.
    hint_.reset();
    hint_.emplace("mul: prefer library=ONEDNN; conv2d: prefer library=ONEDNN");
    Data("x", Ramp({5, 7}));
    Data("w", Ramp({7, 3}));
    Data("b", Ramp({3}));
  }
  // act(x * w + b), and the values before.
  std::string Dense(const std::string& activation) {
    product_ = Append("mul", {{"X", {"x"}}, {"Y", {"w"}}}, "Out");
    sum_ = Append("elementwise_add", {{"X", {product_}}, {"Y", {"b"}}}, "Out",
                  {{"axis", int64_t{1}}});
    return Append(activation, {{"X", {sum_}}}, "Out");
  }
  static std::vector<std::string> Types(const Plan& plan) {
    std::vector<std::string> types;
    for (const auto& decision : plan.decisions()) {
      types.push_back(decision.op);
    }
    return types;
  }
  // The fetches with passes and without are the same but for rounding.
  void ExpectSame(const Fetches& fetches) {
    Executor as_written({}, {.passes = false});
    const auto want = as_written.Run(program_, feeds_, fetches);
    const auto got = executor_.Run(program_, feeds_, fetches);
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(got[i].dims(), want[i].dims());
      for (int64_t j = 0; j < want[i].numel(); ++j) {
        EXPECT_NEAR(got[i].data<float>()[j], want[i].data<float>()[j], 1e-5);
      }
    }
  }

  std::string product_;
  std::string sum_;
};

using Names = std::vector<std::string>;

TEST_F(FusePassTest, TakesBiasAndActivationIntoAProduct) {
  for (const char* activation : {"relu", "sigmoid", "tanh"}) {
    const std::string out = Dense(activation);
    const auto plan = executor_.Prepare(program_, feeds_, {out});
    EXPECT_EQ(Types(*plan), Names{"fused_mul"}) << activation;
    const std::string text = framework::ExplainText(*plan);
    EXPECT_NE(text.find("pass fuse_activations: 1 changes"), std::string::npos);
    EXPECT_NE(text.find("also does the work of"), std::string::npos) << text;
    ExpectSame({out});
  }
}

TEST_F(FusePassTest, TakesAnActivationIntoAConvolution) {
  Data("image", Ramp({2, 3, 6, 5}));
  Data("filter", Ramp({4, 3, 3, 3}));
  for (const char* activation : {"relu", "sigmoid", "tanh"}) {
    const auto conv =
        Append("conv2d", {{"Input", {"image"}}, {"Filter", {"filter"}}},
               "Output", {{"paddings", std::vector<int64_t>{1, 1}}});
    const auto out = Append(activation, {{"X", {conv}}}, "Out");
    const auto plan = executor_.Prepare(program_, feeds_, {out});
    EXPECT_EQ(Types(*plan), Names{"fused_conv2d"}) << activation;
    ExpectSame({out});
    // Somebody looks at what is between.
    EXPECT_EQ(Types(*executor_.Prepare(program_, feeds_, {out, conv})),
              (Names{"conv2d", activation}));
    ExpectSame({out, conv});
  }
}

TEST_F(FusePassTest, LeavesAloneWhatSomebodyElseReads) {
  const std::string out = Dense("relu");
  EXPECT_EQ(Types(*executor_.Prepare(program_, feeds_, {out, sum_})),
            (Names{"fused_mul", "relu"}));
  ExpectSame({out, sum_});
  EXPECT_EQ(Types(*executor_.Prepare(program_, feeds_, {out, product_})),
            (Names{"mul", "elementwise_add", "relu"}));
  ExpectSame({out, product_});
  const auto twice =
      Append("elementwise_add", {{"X", {sum_}}, {"Y", {out}}}, "Out");
  EXPECT_EQ(Types(*executor_.Prepare(program_, feeds_, {twice})),
            (Names{"fused_mul", "relu", "elementwise_add"}));
  ExpectSame({twice});
}

TEST_F(FusePassTest, ABiasThatIsNoneStays) {
  Data("column", Ramp({5}));
  Data("matrix", Ramp({5, 3}));
  const auto product = Append("mul", {{"X", {"x"}}, {"Y", {"w"}}}, "Out");
  const auto rows =
      Append("elementwise_add", {{"X", {product}}, {"Y", {"column"}}}, "Out",
             {{"axis", int64_t{0}}});
  const auto all =
      Append("elementwise_add", {{"X", {"matrix"}}, {"Y", {product}}}, "Out");
  EXPECT_EQ(Types(*executor_.Prepare(program_, feeds_, {rows})),
            (Names{"mul", "elementwise_add"}));
  EXPECT_EQ(Types(*executor_.Prepare(program_, feeds_, {all})),
            (Names{"mul", "elementwise_add"}));
}

TEST_F(FusePassTest, AHintAboutOneOfTheOpsKeepsThemApart) {
  const std::string out = Dense("relu");
  const std::map<std::string, Names> expected = {
      {"exclude library=ONEDNN", {"mul", "elementwise_add", "relu"}},
      {"mul: require variant=plain", {"mul", "elementwise_add", "relu"}},
      {"relu: prefer library=PLAIN", {"fused_mul", "relu"}}};
  for (const auto& [hint, types] : expected) {
    const KernelHintGuard guard(hint);
    EXPECT_EQ(Types(*executor_.Prepare(program_, feeds_, {out})), types)
        << hint;
  }
}

TEST_F(FusePassTest, WhatPlainKernelsDoBetterStaysAsItIs) {
  hint_.reset();
  EXPECT_EQ(Types(*executor_.Prepare(program_, feeds_, {Dense("relu")})),
            (Names{"mul", "elementwise_add", "relu"}));
}

TEST_F(FusePassTest, FusedOpsAreInNoProgram) {
  const std::string out = Dense("relu");
  executor_.Run(program_, feeds_, {out});
  const std::string text = ToString(program_);
  EXPECT_EQ(text.find("fused_"), std::string::npos);
  EXPECT_EQ(framework::SerializeProgram(program_).find("fused_"),
            std::string::npos);
  for (const char* op : {"fused_mul", "fused_conv2d"}) {
    EXPECT_TRUE(framework::Registry::Global().Schema(op).internal());
    ExpectError(ErrorCode::kInvalidArgument, "program.internal_op", {op}, [&] {
      program_.AppendOp(op, {{"X", {"x"}}});
    });
  }
}

}  // namespace
}  // namespace sluice::operators
