#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/testing/expect_error.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/framework/hints/kernel_hints.h"
#include "sluice/framework/inspect/explain.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/run/executor.h"
#include "sluice/operators/chain/chain_steps.h"
#include "sluice/operators/math/binary/binary_row.h"
#include "sluice/operators/math/chain/chain.h"
#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/math/unary/unary_row.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

using Names = std::vector<std::string>;
using sluice::testing::ExpectError;
using sluice::testing::InferOpShapes;

constexpr auto kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr auto kInfinity = std::numeric_limits<float>::infinity();

class ChainPassTest : public ::testing::Test {
 protected:
  // Numbers around 0, including those that are easily lost.
  template <typename T>
  std::string Feed(const DDim& dims) {
    const std::vector<float> odd = {kNaN, kInfinity, -kInfinity, -0.0F, 3e-39F};
    std::vector<T> values(static_cast<size_t>(dims.numel()));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] =
          static_cast<T>(static_cast<int>((i * 7 + seed_) % 23) - 11) / 4;
      if (i % 19 == 5) values[i] = static_cast<T>(odd[i / 19 % odd.size()]);
    }
    seed_ += 5;
    const std::string name = "feed" + std::to_string(feeds_.size());
    const Tensor tensor = Tensor::FromVector<T>(dims, values);
    program_.Data(name, tensor.dtype(), dims);
    feeds_.emplace_back(name, tensor);
    return name;
  }

  std::string Append(const std::string& op,
                     const std::string& x,
                     AttributeMap attributes = {}) {
    return Append(op, {{"X", {x}}}, std::move(attributes));
  }
  std::string Append2(const std::string& op,
                      const std::string& x,
                      const std::string& y,
                      int64_t axis = -1) {
    return Append(op, {{"X", {x}}, {"Y", {y}}}, {{"axis", axis}});
  }
  std::string Append(const std::string& op,
                     Program::ArgList inputs,
                     AttributeMap attributes) {
    OpDesc desc;
    desc.type = op;
    desc.inputs = std::move(inputs);
    const std::string out = "t" + std::to_string(ops_++);
    desc.outputs = {{"Out", {out}}};
    desc.attributes = std::move(attributes);
    program_.AppendOp(desc);
    return out;
  }

  // Uses one thread: the benefit of more depends on the machine.
  Names Types(const Fetches& fetches) {
    const ThreadCountGuard one(1);
    Names types;
    const auto plan = executor_.Prepare(program_, feeds_, fetches);
    for (const auto& decision : plan->decisions()) {
      types.push_back(decision.op);
    }
    return types;
  }

  // Expects one op, with the bits of the separate ops.
  template <typename T>
  void ExpectOneOp(const std::string& out) {
    EXPECT_EQ(Types({out}), Names{"fused_elementwise"});
    ExpectSame<T>(out);
  }
  template <typename T>
  void ExpectSame(const std::string& out) {
    Executor as_written({}, {.passes = false});
    const Tensor want = as_written.Run(program_, feeds_, {out})[0];
    const Tensor got = executor_.Run(program_, feeds_, {out})[0];
    ASSERT_EQ(got.dims(), want.dims());
    for (int64_t i = 0; i < want.numel(); ++i) {
      const T a = got.data<T>()[i], b = want.data<T>()[i];
      const bool both_nan = std::isnan(a) && std::isnan(b);
      ASSERT_TRUE(both_nan || (a == b && std::signbit(a) == std::signbit(b)))
          << i << ": " << a << ", expected " << b;
    }
  }

  Program program_;
  std::vector<std::pair<std::string, Tensor>> feeds_;
  Executor executor_;
  int ops_ = 0;
  size_t seed_ = 3;
};

// Every unary row can be a step between two others.
TEST_F(ChainPassTest, TakesEveryUnaryRow) {
  const std::string x = Feed<float>({3, 700});
  for (const UnaryRow& row : UnaryRows()) {
    SCOPED_TRACE(row.info.name);
    const std::string out = Append(
        "scale", Append(row.info.name, Append("scale", x, {{"scale", 0.3}})),
        {{"scale", -2.5}, {"bias", 0.25}});
    ExpectOneOp<float>(out);
  }
}

TEST_F(ChainPassTest, IsEstimatedByAllItsSteps) {
  std::string out = Feed<float>({3, 700});
  for (int i = 0; i < 3; ++i) {
    out = Append("scale", out, {{"scale", 0.3}});
  }
  const auto plan = executor_.Prepare(program_, feeds_, {out});
  const Decision& chain = plan->decisions()[0];
  ASSERT_EQ(chain.op, "fused_elementwise");
  EXPECT_EQ(chain.candidates()[0].work.flops, 3.0 * 3 * 700);
}

TEST_F(ChainPassTest, TakesEveryBinaryRowOfFloats) {
  const std::string x = Feed<float>({3, 700});
  const std::string y = Feed<float>({3, 700});
  int taken = 0;
  for (const BinaryRow& row : BinaryRows()) {
    if (!HasOperand(row.info.name)) continue;
    SCOPED_TRACE(row.info.name);
    ExpectOneOp<float>(
        Append("relu", Append2(row.info.name, Append("abs", x), y)));
    ++taken;
  }
  EXPECT_GE(taken, 6);
  EXPECT_FALSE(IsChainStep("equal"));
  EXPECT_FALSE(IsChainStep("cast"));
}

TEST_F(ChainPassTest, TakesClipAndTheAttributesOfRows) {
  const std::string x = Feed<float>({5, 333});
  for (const auto& [op, attributes] :
       std::vector<std::pair<std::string, AttributeMap>>{
           {"clip", {{"min", -0.5}, {"max", 1.25}}},
           {"clip", {{"max", 0.5}}},
           {"leaky_relu", {{"alpha", 0.3}}},
           {"hard_sigmoid", {{"slope", 0.4}, {"offset", 0.3}}},
           {"gelu", {{"approximate", true}}},
           {"gelu", {{"approximate", false}}}}) {
    SCOPED_TRACE(op);
    ExpectOneOp<float>(
        Append("scale", Append(op, x, attributes), {{"bias", 1.0}}));
  }
}

TEST_F(ChainPassTest, ComputesDoublesAndHalves) {
  const std::string x = Feed<double>({4, 513});
  const std::string y = Feed<double>({4, 513});
  ExpectOneOp<double>(Append("tanh", Append2("elementwise_sub", x, y)));
  for (const DType half : {DType::kFloat16, DType::kBFloat16}) {
    const auto cast = [&](const std::string& from, DType to) {
      return Append("cast", from, {{"dtype", to}});
    };
    const std::string chain = Append(
        "relu", Append2("elementwise_add", cast(x, half), cast(y, half)));
    const std::string out = cast(chain, DType::kFloat64);
    EXPECT_THAT(Types({out}), ::testing::Contains("fused_elementwise"));
    ExpectSame<double>(out);
  }
}

struct Repeated {
  DDim x, y;
  int64_t axis;
  bool fused;
};

TEST_F(ChainPassTest, TakesOperandsThatRepeat) {
  for (const Repeated& c :
       std::vector<Repeated>{{{2, 3, 5, 7}, {2, 3, 5, 7}, -1, true},
                             {{2, 3, 5, 7}, {1}, -1, true},
                             {{2, 3, 5, 7}, {1, 1, 1}, -1, true},
                             {{2, 3, 5, 7}, {}, -1, true},
                             // A gate, and biases of channels first and last.
                             {{2, 3, 5, 7}, {2, 3, 1, 1}, -1, true},
                             {{2, 3, 5, 7}, {3, 1, 1}, -1, true},
                             {{2, 3, 5, 7}, {3}, 1, true},
                             {{2, 3, 5, 17}, {17}, -1, true},
                             {{2, 3, 5, 17}, {1, 1, 5, 17}, -1, true},
                             {{2, 3, 1500}, {3, 1500}, -1, true},
                             // Rows that are short.
                             {{2, 3, 5, 7}, {7}, -1, false},
                             {{2, 3, 5, 3}, {2, 3, 5, 1}, -1, false},
                             // Broadcast dims between dims that are not.
                             {{2, 3, 5, 17}, {2, 1, 1, 17}, -1, false},
                             {{2, 30, 50}, {2, 1, 50}, -1, false},
                             {{1, 1}, {1, 1}, -1, true},
                             {{0, 4}, {0, 4}, -1, true}}) {
    SCOPED_TRACE(Format("{} {} {}", c.x, c.y, c.axis));
    const std::string x = Feed<float>(c.x);
    const std::string y = Feed<float>(c.y);
    const std::string out =
        Append("relu", Append2("elementwise_sub", Append("abs", x), y, c.axis));
    if (c.fused) {
      ExpectOneOp<float>(out);
    } else {
      EXPECT_EQ(Types({out}), (Names{"abs", "elementwise_sub", "relu"}));
      ExpectSame<float>(out);
    }
  }
}

TEST_F(ChainPassTest, TheValueMayBeTheRightOperandOfSumsAndProducts) {
  const std::string x = Feed<float>({3, 700});
  const std::string y = Feed<float>({3, 700});
  const std::string row = Feed<float>({700});
  const std::string value = Append("abs", x);
  for (const char* op : {"elementwise_add", "elementwise_mul"}) {
    ExpectOneOp<float>(Append2(op, y, value));
    ExpectOneOp<float>(Append2(op, row, value));
  }
  const std::string apart = Append2("elementwise_sub", y, value);
  EXPECT_EQ(Types({apart}), (Names{"abs", "elementwise_sub"}));
  const std::string square = Append2("elementwise_mul", value, value);
  EXPECT_EQ(Types({square}), (Names{"abs", "elementwise_mul"}));
  ExpectSame<float>(square);
}

TEST_F(ChainPassTest, TakesAsManyOperandsAsAChainHas) {
  const std::string x = Feed<float>({3, 700});
  std::string out = Append("abs", x);
  for (size_t i = 0; i <= kMaxChainOperands; ++i) {
    out = Append2("elementwise_add", out, Feed<float>({3, 700}));
  }
  EXPECT_EQ(Types({out}), (Names{"fused_elementwise", "elementwise_add"}));
  ExpectSame<float>(out);
}

TEST_F(ChainPassTest, MakesSeveralOfALongOne) {
  std::string out = Feed<float>({3, 700});
  for (size_t i = 0; i < 2 * kMaxChainSteps + 1; ++i) {
    out = Append("scale", out, {{"scale", 1.5}});
  }
  EXPECT_EQ(Types({out}),
            (Names{"fused_elementwise", "fused_elementwise", "scale"}));
  ExpectSame<float>(out);
}

TEST_F(ChainPassTest, TakesASumOfTwo) {
  const std::string x = Feed<float>({3, 700});
  const std::string y = Feed<float>({3, 700});
  const std::string value = Append("abs", x);
  for (const ArgVars& terms : std::vector<ArgVars>{{value, y}, {y, value}}) {
    ExpectOneOp<float>(Append("relu", Append("sum", {{"X", terms}}, {})));
  }
  const std::string three = Append("sum", {{"X", {value, x, y}}}, {});
  EXPECT_EQ(Types({three}), (Names{"abs", "sum"}));
}

TEST_F(ChainPassTest, LeavesWhatMakesTheValueLarger) {
  const std::string x = Feed<float>({1, 700});
  const std::string y = Feed<float>({3, 700});
  const std::string out =
      Append("relu", Append2("elementwise_add", Append("abs", x), y));
  EXPECT_EQ(Types({out}), (Names{"abs", "fused_elementwise"}));
  ExpectSame<float>(out);
}

TEST_F(ChainPassTest, LeavesWhatSomebodySees) {
  const std::string x = Feed<float>({3, 700});
  const std::string middle =
      Append("scale", Append("abs", x), {{"scale", 2.0}});
  const std::string out = Append("tanh", Append("relu", middle));
  EXPECT_EQ(Types({out, middle}),
            (Names{"fused_elementwise", "fused_elementwise"}));
  ExpectSame<float>(out);
  ExpectSame<float>(middle);
  const std::string sum = Append2("elementwise_add", middle, out);
  EXPECT_EQ(Types({sum}), (Names{"fused_elementwise", "fused_elementwise"}));
  ExpectSame<float>(sum);
}

TEST_F(ChainPassTest, LeavesAScaleThatAddsFirst) {
  const std::string x = Feed<float>({3, 700});
  const std::string out =
      Append("scale", Append("relu", x),
             {{"scale", 2.0}, {"bias", 1.0}, {"bias_after_scale", false}});
  EXPECT_EQ(Types({out}), (Names{"relu", "scale"}));
}

TEST_F(ChainPassTest, LeavesIntegers) {
  const std::string x =
      Append("cast", Feed<double>({3, 7}), {{"dtype", DType::kInt32}});
  const std::string out = Append("abs", Append2("elementwise_add", x, x));
  EXPECT_EQ(Types({out}), (Names{"cast", "elementwise_add", "abs"}));
}

TEST_F(ChainPassTest, HintsKeepOpsApart) {
  const std::string x = Feed<float>({3, 700});
  const std::string out = Append("tanh", Append("relu", Append("abs", x)));
  const KernelHintGuard guard("tanh: exclude pass=fuse_elementwise");
  EXPECT_EQ(Types({out}), (Names{"fused_elementwise", "tanh"}));
}

TEST_F(ChainPassTest, ExplainSaysWhatItStandsFor) {
  const std::string x = Feed<float>({3, 700});
  const std::string out = Append("tanh", Append("relu", x));
  const auto plan = executor_.Prepare(program_, feeds_, {out});
  EXPECT_THAT(ExplainText(*plan),
              ::testing::HasSubstr("fuse_elementwise: 1 change"));
}

// All values halfway between two bfloat16, and NaNs of both signs.
TEST(ChainTest, RoundsBfloat16AsTheOpsDo) {
  std::vector<bfloat16> x(0x10000);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i].bits = static_cast<uint16_t>(i);
  }
  // Products with 1 + 2^-7 are between two values, or ties; -0 + 0 is 0.
  const Chain<bfloat16> chain({{"scale", {1.0078125, 0}}}, {});
  std::vector<bfloat16> got(x.size());
  chain.Run(x.data(), {}, static_cast<int64_t>(x.size()), got.data());
  for (size_t i = 0; i < x.size(); ++i) {
    const auto want = Narrow<bfloat16>(Widen(x[i]) * 1.0078125F + 0.0F);
    ASSERT_EQ(got[i].bits, want.bits) << i;
  }
}

TEST(ChainTest, RefusesStepsThatAreNone) {
  ExpectError(ErrorCode::kInternal, "chain.step", {"cast is no step"}, [] {
    Chain<float>({{"cast", {}}}, {});
  });
  ExpectError(ErrorCode::kInternal, "chain.operands",
              {"read 1 operands, at most 8, got 0"}, [] {
                Chain<float>({{"elementwise_add", {}}}, {});
              });
}

// Passes write consistent ops; a pass with a mistake, or a plug-in's, may not.
TEST(ChainTest, RefusesAttributesThatContradictEachOther) {
  const auto infer = [](const AttributeMap& attributes, const DDim& operand) {
    InferOpShapes("fused_elementwise", {{"X", {2}}, {"Operands", operand}},
                  attributes);
  };
  const auto refuses = [&](const char* id, const AttributeMap& attributes,
                           const DDim& operand, const std::string& text) {
    ExpectError(ErrorCode::kInvalidArgument, id, {"fused_elementwise", text},
                [&] { infer(attributes, operand); });
  };
  const AttributeMap right = {{"steps", Names{"elementwise_add"}},
                              {"numbers", std::vector<double>{0, 0}},
                              {"axes", std::vector<int64_t>{0}}};
  infer(right, {2});
  for (const DDim& dims : {DDim{3}, DDim{1, 2}}) {
    refuses("chain.operand_dims", right, dims, "does not repeat to [2]");
  }
  const auto changed = [&](const char* name, const Attribute& value) {
    AttributeMap attributes = right;
    attributes[name] = value;
    return attributes;
  };
  refuses("fused_elementwise.steps", changed("steps", Names{}), {2}, "empty");
  refuses("chain.unknown_step", changed("steps", Names{"cast"}), {2}, "cast");
  refuses("chain.attributes", changed("steps", Names{"relu"}), {2},
          "read 0 operands");
  refuses("chain.attributes", changed("numbers", std::vector<double>()), {2},
          "1 steps have 0 numbers");
  refuses("chain.attributes", changed("axes", std::vector<int64_t>()), {2},
          "with 0 axes");
  refuses("chain.attributes",
          {{"steps", Names(9, "elementwise_add")},
           {"numbers", std::vector<double>(18)},
           {"axes", std::vector<int64_t>(9)}},
          {2}, "9 steps");
}

// Each op that only passes make checks its own arguments.
TEST(FusedOps, RefuseInputsThatDoNotFit) {
  const auto refuses =
      [](const char* op, const std::vector<std::pair<std::string, DDim>>& in,
         const AttributeMap& attributes, const std::string& id) {
        ExpectError(ErrorCode::kInvalidArgument, id, {op},
                    [&] { InferOpShapes(op, in, attributes); });
      };
  const AttributeMap add = {{"steps", Names{"elementwise_add"}}};
  const std::vector<std::pair<std::string, DDim>> conv = {
      {"Input", {1, 2, 5, 5}}, {"Filter", {3, 2, 1, 1}}};
  auto scaled = conv;
  scaled.emplace_back("Scale", DDim{3});
  refuses("fused_conv2d", scaled, {}, "fused_conv2d.norm");
  scaled.back() = {"Scale", {4}};
  for (const char* name : {"Shift", "Mean", "Variance"}) {
    scaled.emplace_back(name, DDim{3});
  }
  refuses("fused_conv2d", scaled, {}, "infer_shape.merge_dim");
  refuses("fused_conv2d", conv, add, "chain.attributes");
  refuses("fused_batch_norm",
          {{"X", {1, 2, 5}},
           {"Scale", {2}},
           {"Bias", {2}},
           {"Mean", {2}},
           {"Variance", {2}}},
          add, "chain.attributes");
  for (const char* op : {"fused_mul", "fused_matmul"}) {
    refuses(op, {{"X", {2, 3}}, {"Y", {3, 4}}, {"Bias", {3}}}, {},
            "infer_shape.merge_dim");
    refuses(op, {{"X", {2, 3}}, {"Y", {3, 4}}}, add, "chain.attributes");
  }
  refuses("shuffle_channel", {{"X", {1, 5, 2, 2}}}, {{"group", int64_t{2}}},
          "shuffle_channel.group");
  refuses("shuffle_channel", {{"X", {4, 4}}},
          {{"group", int64_t{2}}, {"data_format", std::string("NHWC")}},
          "infer_shape.rank");
}

}  // namespace
}  // namespace sluice
