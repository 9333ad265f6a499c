#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/hints/kernel_hints.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/framework/program/program_io.h"
#include "sluice/framework/run/executor.h"

namespace sluice {
namespace {

using Ints = std::vector<int64_t>;
using Names = std::vector<std::string>;

struct Case {
  const char* name;
  DDim x;
  Ints ksize, strides, paddings;
  bool ceil_mode = false;
  bool global = false;

  AttributeMap Attributes(const char* type, const char* format) const {
    return {{"pooling_type", std::string(type)},
            {"data_format", std::string(format)},
            {"ksize", ksize},
            {"strides", strides},
            {"paddings", paddings},
            {"ceil_mode", ceil_mode},
            {"global_pooling", global}};
  }
};

const Case kCases[] = {
    {"pairs", {2, 4, 6, 10}, {2, 2}, {2, 2}, {0, 0}},
    {"odd pairs", {3, 5, 7, 9}, {2, 2}, {2, 2}, {0, 0}},
    {"one pixel", {1, 1, 1, 1}, {1, 1}, {1, 1}, {0, 0}},
    {"overlap", {2, 3, 7, 5}, {3, 3}, {2, 1}, {0, 0}},
    {"padding", {1, 2, 5, 6}, {3, 2}, {2, 2}, {1, 1}},
    {"ceil mode", {1, 3, 6, 7}, {3, 3}, {2, 2}, {1, 0, 0, 1}, true},
    {"global", {2, 3, 4, 5}, {}, {1, 1}, {0, 0}, false, true},
    {"none", {0, 3, 6, 6}, {2, 2}, {2, 2}, {0, 0}},
};

// Numbers of both signs, zeros, ties and a NaN.
template <typename T>
Tensor Values(const DDim& dims, int first) {
  std::vector<T> values(static_cast<size_t>(dims.numel()));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto step = static_cast<int>((i * 7 + i / 5) % 11);
    values[i] = static_cast<T>(step + first) / T{4};
  }
  if (values.size() > 20) values[17] = std::numeric_limits<T>::quiet_NaN();
  return Tensor::FromVector<T>(dims, values);
}

// in -> scale -> relu -> pool2d, and back to the gradient of the relu's input.
class ReluPool2dTest : public ::testing::Test {
 protected:
  template <typename T>
  void Make(const Case& c, const AttributeMap& attributes) {
    program_ = Program();
    ops_ = 0;
    feeds_ = {{"in", Values<T>(c.x, -5)}};
    program_.Data("in", kDTypeOf<T>, c.x);
    x_ = Append("scale", {{"X", {"in"}}}, "Out", {{"scale", 1.0}});
    relu_ = Append("relu", {{"X", {x_}}}, "Out");
    out_ = Append("pool2d", {{"X", {relu_}}}, "Out", attributes);
    const DDim pooled = program_.FindVar(out_).dims;
    feeds_.emplace_back("grad", Values<T>(pooled, 1));
    program_.Data("grad", kDTypeOf<T>, pooled);
    const auto pool_grad =
        Append("pool2d_grad",
               {{"X", {relu_}}, {"Out", {out_}}, {"Out@GRAD", {"grad"}}},
               "X@GRAD", attributes);
    x_grad_ = Append("relu_grad", {{"Out", {relu_}}, {"Out@GRAD", {pool_grad}}},
                     "X@GRAD");
  }
  std::string Append(const std::string& type,
                     Program::ArgList inputs,
                     const std::string& output,
                     AttributeMap attributes = {}) {
    OpDesc op;
    op.type = type;
    op.inputs = std::move(inputs);
    op.outputs = {{output, {"t" + std::to_string(ops_++)}}};
    op.attributes = std::move(attributes);
    const std::string name = op.outputs[0].second[0];
    program_.AppendOp(op);
    return name;
  }
  static Fetches Targets(const Names& names) {
    return {names.begin(), names.end()};
  }
  Names Types(const Names& fetches) {
    Names types;
    for (const auto& decision :
         executor_.Prepare(program_, feeds_, Targets(fetches))->decisions()) {
      // These tests do not depend on the faster format.
      if (decision.op == "transpose" || decision.op == "reshape") continue;
      types.push_back(decision.op);
    }
    return types;
  }
  // The plan with passes computes the bits of the one without.
  template <typename T>
  void ExpectSameBits(const Names& fetches, const std::string& what) {
    Executor as_written({}, {.passes = false});
    const auto want = as_written.Run(program_, feeds_, Targets(fetches));
    const auto got = executor_.Run(program_, feeds_, Targets(fetches));
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(got[i].dims(), want[i].dims()) << what;
      for (int64_t j = 0; j < want[i].numel(); ++j) {
        const T a = got[i].data<T>()[j], b = want[i].data<T>()[j];
        EXPECT_TRUE(std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b) ||
                    (std::isnan(a) && std::isnan(b)))
            << what << ", " << fetches[i] << "[" << j << "]: " << a
            << ", expected " << b;
      }
    }
  }

  const KernelHintGuard plain_{"prefer library=PLAIN"};
  // Otherwise a remaining relu is fused with the scale before it.
  KernelHintGuard apart_{"exclude pass=fuse_elementwise"};
  Program program_;
  Feeds feeds_;
  Executor executor_;
  std::string x_, relu_, out_, x_grad_;
  int ops_ = 0;
};

TEST_F(ReluPool2dTest, GivesTheBitsOfTwoOpsInBothDirections) {
  for (const Case& c : kCases) {
    for (const char* type : {"max", "avg"}) {
      for (const char* format : {"NCHW", "NHWC"}) {
        const std::string what =
            std::string(c.name) + " " + type + " " + format;
        Make<float>(c, c.Attributes(type, format));
        EXPECT_EQ(Types({out_, x_grad_}),
                  (Names{"scale", "relu_pool2d", "relu_pool2d_grad"}))
            << what;
        ExpectSameBits<float>({out_, x_grad_}, what);
        Make<double>(c, c.Attributes(type, format));
        ExpectSameBits<double>({out_, x_grad_}, what + " float64");
      }
    }
  }
}

TEST_F(ReluPool2dTest, SomebodyWhoSeesTheReluKeepsIt) {
  Make<float>(kCases[0], kCases[0].Attributes("max", "NCHW"));
  EXPECT_EQ(Types({out_, relu_, x_grad_}),
            (Names{"scale", "relu", "pool2d", "relu_pool2d_grad"}));
  ExpectSameBits<float>({out_, relu_, x_grad_}, "relu fetched");
  const auto twice = Append("square", {{"X", {relu_}}}, "Out");
  EXPECT_EQ(Types({out_, twice, x_grad_}),
            (Names{"scale", "relu", "pool2d", "relu_pool2d_grad", "square"}));
  ExpectSameBits<float>({out_, twice, x_grad_}, "relu read twice");
}

TEST_F(ReluPool2dTest, APoolingThatIsReadBetweenStays) {
  Make<float>(kCases[0], kCases[0].Attributes("max", "NCHW"));
  const std::string pool_grad = program_.block().ops[3].outputs[0].second[0];
  EXPECT_EQ(Types({x_grad_, pool_grad}),
            (Names{"scale", "relu", "pool2d", "pool2d_grad", "relu_grad"}));
  ExpectSameBits<float>({x_grad_, pool_grad}, "pool2d_grad fetched");
}

TEST_F(ReluPool2dTest, AFeedIsLeftAlone) {
  // A relu of a feed, and a pooling of another variable.
  program_.Data("in", DType::kFloat32, {1, 1, 4, 4});
  feeds_ = {{"in", Values<float>({1, 1, 4, 4}, -5)}};
  relu_ = Append("relu", {{"X", {"in"}}}, "Out");
  out_ = Append("pool2d", {{"X", {relu_}}}, "Out", {{"ksize", Ints{2, 2}}});
  EXPECT_EQ(Types({out_}), (Names{"relu", "pool2d"}));
}

TEST_F(ReluPool2dTest, IsInNoProgram) {
  Make<float>(kCases[0], kCases[0].Attributes("max", "NCHW"));
  executor_.Run(program_, feeds_, {out_, x_grad_});
  EXPECT_EQ(ToString(program_).find("relu_pool2d"), std::string::npos);
  EXPECT_EQ(SerializeProgram(program_).find("relu_pool2d"), std::string::npos);
}

}  // namespace
}  // namespace sluice
