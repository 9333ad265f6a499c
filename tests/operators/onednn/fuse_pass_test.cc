#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "tests/operators/onednn/pass_fixture.h"
#include "tests/testing/expect_error.h"

#include "sluice/framework/inspect/explain.h"
#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/program/program_io.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;

class FusePassTest : public testing::PassTest {
 protected:
  FusePassTest() {
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

  static Tensor Halves(const DDim& dims) {
    return Tensor::FromVector<float>(
        dims, std::vector<float>(static_cast<size_t>(dims.numel()), 0.5F));
  }

  // Two convolutions of the image for each variant in variants_.
  std::vector<std::string> Convolutions() {
    std::vector<std::string> outs;
    for (const char* variant : {"direct", "channels_last", "blocked"}) {
      for (const int64_t kernel : {1, 3}) {
        const std::string filter = "filter" + std::to_string(filters_++);
        Data(filter, Halves({3, 8, kernel, kernel}));
        outs.push_back(Append(
            "conv2d", {{"Input", {"image"}}, {"Filter", {filter}}}, "Output"));
        variants_[outs.back()] = variant;
      }
    }
    return outs;
  }

  std::string product_;
  std::string sum_;
  std::map<std::string, std::string> variants_;
  int filters_ = 0;
};

using Names = std::vector<std::string>;

TEST_F(FusePassTest, TakesBiasAndActivationIntoAProduct) {
  for (const char* activation : {"relu", "sigmoid", "tanh"}) {
    const std::string out = Dense(activation);
    const auto plan = executor_.Prepare(program_, feeds_, {out});
    EXPECT_EQ(Types({out}), Names{"fused_mul"}) << activation;
    const std::string text = ExplainText(*plan);
    EXPECT_NE(text.find("fuse_activations: 1 change"), std::string::npos);
    EXPECT_NE(text.find(" includes op"), std::string::npos) << text;
    EXPECT_NE(text.find("is there to compare others with"), std::string::npos);
    ExpectSame({out});
    ExpectRight({out});
  }
}

TEST_F(FusePassTest, TakesAnActivationIntoAConvolution) {
  const KernelHintGuard as_given("conv2d: prefer layout=NCHW");
  Data("image", Ramp({2, 3, 6, 5}));
  Data("filter", Ramp({4, 3, 3, 3}));
  for (const char* activation : {"relu", "sigmoid", "tanh"}) {
    const auto conv =
        Append("conv2d", {{"Input", {"image"}}, {"Filter", {"filter"}}},
               "Output", {{"paddings", std::vector<int64_t>{1, 1}}});
    const auto out = Append(activation, {{"X", {conv}}}, "Out");
    EXPECT_EQ(Types({out}), Names{"fused_conv2d"}) << activation;
    ExpectSame({out});
    ExpectRight({out});
    // A fetch needs the intermediate value.
    EXPECT_EQ(Types({out, conv}), (Names{"conv2d", activation}));
    ExpectSame({out, conv});
  }
}

TEST_F(FusePassTest, LeavesAloneWhatSomebodyElseReads) {
  const std::string out = Dense("relu");
  EXPECT_EQ(Types({out, sum_}), (Names{"fused_mul", "relu"}));
  ExpectSame({out, sum_});
  EXPECT_EQ(Types({out, product_}), (Names{"mul", "elementwise_add", "relu"}));
  ExpectSame({out, product_});
  const auto twice =
      Append("elementwise_add", {{"X", {sum_}}, {"Y", {out}}}, "Out");
  EXPECT_EQ(Types({twice}), (Names{"fused_mul", "fused_elementwise"}));
  ExpectSame({twice});
}

TEST_F(FusePassTest, WhatRepeatsInShortRowsStays) {
  Data("column", Ramp({5}));
  Data("matrix", Ramp({5, 3}));
  const auto product = Append("mul", {{"X", {"x"}}, {"Y", {"w"}}}, "Out");
  const auto rows =
      Append("elementwise_add", {{"X", {product}}, {"Y", {"column"}}}, "Out",
             {{"axis", int64_t{0}}});
  const auto all =
      Append("elementwise_add", {{"X", {"matrix"}}, {"Y", {product}}}, "Out");
  EXPECT_EQ(Types({rows}), (Names{"mul", "elementwise_add"}));
  EXPECT_EQ(Types({all}), Names{"fused_mul"});
  ExpectSame({all});
  ExpectRight({all});
}

// A matmul of these shapes and options, with a bias [3] and a relu after it.
struct Matmul {
  std::vector<int64_t> x, y;
  AttributeMap attributes;
  Names types;
};

TEST_F(FusePassTest, TakesABiasIntoAMatmulAlongItsColumns) {
  SCOPED_TRACE("onednn.matmul_bias");
  const Names fused = {"fused_matmul"};
  const std::vector<Matmul> cases = {
      {{5, 7}, {7, 3}, {}, fused},
      {{1, 1}, {1, 3}, {}, fused},
      {{7, 5}, {3, 7}, {{"transpose_X", true}, {"transpose_Y", true}}, fused},
      {{2, 5, 7}, {7, 3}, {}, fused},
      {{4, 2, 5, 7}, {4, 2, 7, 3}, {}, fused},
      {{7}, {7, 3}, {}, fused},
      // oneDNN adds before it scales; the plain kernel does not.
      {{5, 7}, {7, 3}, {{"alpha", 0.5}}, fused},
      // The vector's column is no dimension: its bias is one.
      {{3, 7}, {7}, {}, fused},
      {{0, 7}, {7, 3}, {}, fused}};
  int made = 0;
  for (const Matmul& c : cases) {
    const std::string x = "x" + std::to_string(made);
    const std::string y = "y" + std::to_string(made++);
    Data(x, Ramp(DDim(c.x)));
    Data(y, Ramp(DDim(c.y)));
    const auto product =
        Append("matmul", {{"X", {x}}, {"Y", {y}}}, "Out", c.attributes);
    const auto sum =
        Append("elementwise_add", {{"X", {product}}, {"Y", {"b"}}}, "Out");
    const auto out = Append("relu", {{"X", {sum}}}, "Out");
    EXPECT_EQ(Types({out}), c.types) << x;
    ExpectSame({out});
    ExpectRight({out});
  }
}

TEST_F(FusePassTest, TakesABiasHoweverItIsAdded) {
  const auto product = [&] {
    return Append("matmul", {{"X", {"x"}}, {"Y", {"w"}}}, "Out");
  };
  for (const auto& out :
       {Append("bias_add", {{"X", {product()}}, {"Bias", {"b"}}}, "Out"),
        Append("bias_add", {{"X", {product()}}, {"Bias", {"b"}}}, "Out",
               {{"data_format", std::string("NHWC")}}),
        Append("elementwise_add", {{"X", {"b"}}, {"Y", {product()}}}, "Out")}) {
    EXPECT_EQ(Types({out}), Names{"fused_matmul"});
    ExpectSame({out});
  }
  // The last one's second dimension is its rows.
  Data("x3", Ramp({2, 3, 7}));
  const auto rows = Append("matmul", {{"X", {"x3"}}, {"Y", {"w"}}}, "Out");
  const auto out = Append("bias_add", {{"X", {rows}}, {"Bias", {"b"}}}, "Out");
  EXPECT_EQ(Types({out}), (Names{"matmul", "bias_add"}));
  ExpectSame({out});
}

TEST_F(FusePassTest, TakesTheBiasOfTheChannelsIntoAConvolution) {
  Data("image", Ramp({2, 4, 4, 4}));
  Data("filter", Ramp({4, 4, 1, 1}));
  Data("c", Ramp({4}));
  for (const std::string format : {"NCHW", "NHWC"}) {
    const auto conv = [&](Program::ArgList inputs) {
      inputs.push_back({"Input", {"image"}});
      inputs.push_back({"Filter", {"filter"}});
      return Append("conv2d", std::move(inputs), "Output",
                    {{"data_format", format}});
    };
    const auto add = [&](const std::string& x, int64_t axis) {
      return Append("elementwise_add", {{"X", {x}}, {"Y", {"c"}}}, "Out",
                    {{"axis", axis}});
    };
    const int64_t channels = format == "NCHW" ? 1 : 3;
    for (const auto& sum :
         {add(conv({}), channels),
          Append("bias_add", {{"X", {conv({})}}, {"Bias", {"c"}}}, "Out",
                 {{"data_format", format}})}) {
      const auto out = Append("tanh", {{"X", {sum}}}, "Out");
      EXPECT_EQ(Types({out}), Names{"fused_conv2d"}) << format;
      ExpectSame({out});
    }
    // Additions to rows, and a second bias, are chain steps if rows are long.
    const auto width = add(conv({}), 4 - channels);
    const auto second = add(conv({{"Bias", {"c"}}}), channels);
    const bool rows = format == "NCHW";
    const Names apart = {"conv2d", "elementwise_add"};
    EXPECT_EQ(Types({width}), rows ? apart : Names{"fused_conv2d"});
    EXPECT_EQ(Types({second}), rows ? Names{"fused_conv2d"} : apart);
    ExpectSame({width});
    ExpectSame({second});
  }
}

TEST_F(FusePassTest, TakesSeveralSteps) {
  const KernelHintGuard as_given("conv2d: prefer layout=NCHW");
  const auto out = Append("relu", {{"X", {Dense("tanh")}}}, "Out");
  EXPECT_EQ(Types({out}), Names{"fused_mul"});
  ExpectSame({out});
  ExpectRight({out});
  Data("image", Ramp({1, 2, 5, 5}));
  Data("filter", Ramp({2, 2, 1, 1}));
  Data("other", Ramp({1, 2, 5, 5}));
  Data("gate", Ramp({1, 2, 1, 1}));
  for (const char* first : {"sigmoid", "tanh", "relu", "hard_swish"}) {
    SCOPED_TRACE(first);
    const auto conv = Append(
        "conv2d", {{"Input", {"image"}}, {"Filter", {"filter"}}}, "Output");
    const auto scaled =
        Append("scale", {{"X", {Append(first, {{"X", {conv}}}, "Out")}}}, "Out",
               {{"scale", -1.5}, {"bias", 0.25}});
    EXPECT_EQ(Types({scaled}), Names{"fused_conv2d"});
    ExpectSame({scaled});
    const auto gated =
        Append("elementwise_mul", {{"X", {scaled}}, {"Y", {"gate"}}}, "Out");
    const auto sum =
        Append("elementwise_add", {{"X", {"other"}}, {"Y", {gated}}}, "Out");
    const auto clipped =
        Append("clip", {{"X", {sum}}}, "Out", {{"min", -0.5}, {"max", 0.75}});
    EXPECT_EQ(Types({clipped}), Names{"fused_conv2d"});
    ExpectSame({clipped});
    ExpectRight({clipped});
  }
}

// Operands are taken in once their layout is that of the output.
TEST_F(FusePassTest, TakesWhatIsAddedInTheAssignedLayout) {
  Data("image", Ramp({2, 32, 9, 11}));
  Data("w1", Ramp({32, 32, 3, 3}));
  Data("w2", Ramp({32, 32, 3, 3}));
  const auto conv = [&](const std::string& input, const char* filter) {
    return Append("conv2d", {{"Input", {input}}, {"Filter", {filter}}},
                  "Output", {{"paddings", std::vector<int64_t>{1, 1}}});
  };
  const auto inner = Append("relu", {{"X", {conv("image", "w1")}}}, "Out");
  const auto sum = Append("elementwise_add",
                          {{"X", {conv(inner, "w2")}}, {"Y", {inner}}}, "Out");
  const auto out = Append("relu", {{"X", {sum}}}, "Out");
  for (const char* layout : {"NHWC", "NCHW"}) {
    SCOPED_TRACE(layout);
    const KernelHintGuard guard(Format("conv2d: prefer layout={}", layout));
    const Names types = Types({out});
    EXPECT_EQ(std::count(types.begin(), types.end(), "fused_conv2d"), 2);
    EXPECT_EQ(std::count(types.begin(), types.end(), "elementwise_add"), 0);
    ExpectSame({out});
  }
}

// oneDNN's relu, and one of its sigmoids, would turn NaN into numbers.
TEST_F(FusePassTest, KeepsNaNAndInfinities) {
  SCOPED_TRACE("onednn.sigmoid_nan");
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  feeds_[1].second = Halves({7, 3});
  Data("image", Ramp({1, 8, 8, 8}));
  for (const float odd :
       {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity}) {
    for (auto& [name, value] : feeds_) {
      if (name == "x" || name == "image") value.data<float>()[9] = odd;
    }
    for (const char* activation : {"relu", "sigmoid", "tanh"}) {
      ExpectSame({Dense(activation)});
      for (const std::string& conv : Convolutions()) {
        const KernelHintGuard guard("conv2d: prefer variant=" +
                                    variants_[conv]);
        ExpectSame({Append(activation, {{"X", {conv}}}, "Out")});
      }
    }
  }
}

TEST_F(FusePassTest, AFusedReluGivesTheBitsOfTheReluItself) {
  using Limits = std::numeric_limits<float>;
  const std::vector<float> odd = {Limits::max(),
                                  Limits::lowest(),
                                  Limits::min(),
                                  -Limits::min(),
                                  Limits::denorm_min(),
                                  -Limits::denorm_min(),
                                  3e-39F,
                                  1e-30F,
                                  -1e-30F,
                                  0.0F,
                                  -0.0F,
                                  -1.5F,
                                  Limits::infinity(),
                                  -Limits::infinity(),
                                  Limits::quiet_NaN()};
  const auto count = static_cast<int64_t>(odd.size());
  Data("odd", Tensor::FromVector<float>({count, 1}, odd));
  Data("one", Tensor::FromVector<float>({1, 1}, {1}));
  const auto product = Append("mul", {{"X", {"odd"}}, {"Y", {"one"}}}, "Out");
  const auto fused = Append("relu", {{"X", {product}}}, "Out");
  ASSERT_EQ(Types({fused}), Names{"fused_mul"});
  const Tensor got = Run({fused})[0];
  // A fetch needs the intermediate value.
  const Tensor want = Run({fused, product})[0];
  for (size_t i = 0; i < odd.size(); ++i) {
    EXPECT_EQ(std::bit_cast<uint32_t>(got.data<float>()[i]),
              std::bit_cast<uint32_t>(want.data<float>()[i]))
        << odd[i];
  }
  EXPECT_EQ(got.data<float>()[4], Limits::denorm_min());
  EXPECT_EQ(got.data<float>()[13], 0.0F);
  EXPECT_TRUE(std::isnan(got.data<float>()[14]));
}

TEST_F(FusePassTest, AHintAboutOneOfTheOpsKeepsThemApart) {
  const std::string out = Dense("relu");
  const KernelHintGuard guard("mul: require library=EIGEN");
  EXPECT_EQ(Types({out}), (Names{"mul", "elementwise_add", "relu"}));
}

TEST_F(FusePassTest, PlainKernelsTakeInWhatFollows) {
  const auto out = Dense("relu");
  hint_.reset();
  for (const char* hint :
       {"", "exclude library=ONEDNN", "mul: require variant=plain"}) {
    const KernelHintGuard guard(hint);
    EXPECT_EQ(Types({out})[0], "fused_mul") << hint;
    ExpectSame({out});
  }
}

TEST_F(FusePassTest, FusedOpsAreInNoProgram) {
  const std::string out = Dense("relu");
  executor_.Run(program_, feeds_, {out});
  const std::string text = ToString(program_);
  EXPECT_EQ(text.find("fused_"), std::string::npos);
  EXPECT_EQ(SerializeProgram(program_).find("fused_"), std::string::npos);
  for (const char* op : {"fused_mul", "fused_matmul", "fused_conv2d"}) {
    EXPECT_TRUE(Registry::Global().Schema(op).internal());
    ExpectError(ErrorCode::kInvalidArgument, "program.internal_op", {op}, [&] {
      program_.AppendOp(op, {{"X", {"x"}}});
    });
  }
}

}  // namespace
}  // namespace sluice
