#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/operators/harness/harness.h"
#include "tests/operators/harness/op_case.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using testing::ExpectError;
using Ints = std::vector<int64_t>;

// 1, 2, 3, ...
Tensor Numbers(const DDim& dims) {
  std::vector<float> values(static_cast<size_t>(dims.numel()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i + 1);
  }
  return Tensor::FromVector(dims, values);
}

TEST(Conv2d, ThinGroupsNeedNoProductOfMatrices) {
  const auto run = [](int64_t groups) {
    return RunOp("conv2d",
                 {{"Input", Numbers({1, 8, 1, 1})},
                  {"Filter", Numbers({8, 8 / groups, 1, 1})}},
                 {{"groups", groups}},
                 {.hint = "require library=PLAIN, variant=direct"})
        .at("Output")
        .ToVector<float>();
  };
  EXPECT_EQ(run(8), (std::vector<float>{1, 4, 9, 16, 25, 36, 49, 64}));
  ExpectError(ErrorCode::kNotFound, "resolver.no_kernel",
              {"conv2d/direct", "fewer than 4 channels, got 4 to 4"},
              [&] { run(2); });
}

TEST(Conv2d, RowsOfOutputsFillVectors) {
  const auto run = [](int64_t width, const char* format) {
    return RunOp("conv2d",
                 {{"Input", Numbers({1, 1, 1, width})},
                  {"Filter", Numbers({1, 1, 1, 1})}},
                 {{"data_format", std::string(format)}},
                 {.hint = "require variant=rows"})
        .at("Output")
        .ToVector<float>();
  };
  EXPECT_EQ(run(67, "NCHW"), Numbers({67}).ToVector<float>());
  ExpectError(ErrorCode::kNotFound, "resolver.no_kernel",
              {"conv2d/rows", "rows of at least", "a vector, got NCHW with 1"},
              [&] { run(1, "NCHW"); });
  ExpectError(ErrorCode::kNotFound, "resolver.no_kernel",
              {"needs NCHW", "got NHWC"}, [&] { run(1, "NHWC"); });
}

// Kernels exchange height and width of images of one column.
TEST(Conv2d, OfOneColumnIsThatOfOneRow) {
  for (const std::string layout : {"NCHW", "NHWC"}) {
    const auto image = [&](int64_t c, int64_t h, int64_t w) {
      return layout == "NCHW" ? DDim{2, c, h, w} : DDim{2, h, w, c};
    };
    const std::map<std::string, std::string> ops = {
        {"conv2d", "Output"},
        {"conv2d_grad_input", "Input@GRAD"},
        {"conv2d_grad_filter", "Filter@GRAD"},
        {"pool2d", "Out"}};
    for (const auto& [op, output] : ops) {
      SCOPED_TRACE(op);
      const auto run = [&, &op = op, &output = output](bool column) {
        const auto pair = [&](int64_t a, int64_t b) {
          return column ? Ints{a, b} : Ints{b, a};
        };
        const Tensor x = Numbers(column ? image(3, 9, 1) : image(3, 1, 9));
        AttributeMap attributes = {
            {"strides", pair(2, 1)},
            {"data_format", layout},
            {"paddings", column ? Ints{1, 2, 0, 0} : Ints{0, 0, 1, 2}}};
        if (op == "pool2d") {
          attributes["ksize"] = pair(3, 1);
          return RunOp(op, {{"X", x}}, attributes)[output];
        }
        attributes["dilations"] = pair(2, 1);
        std::vector<std::pair<std::string, Tensor>> inputs = {
            {"Input", x},
            {"Filter", Numbers(column ? DDim{4, 3, 3, 1} : DDim{4, 3, 1, 3})}};
        if (op != "conv2d") {
          inputs.emplace_back(
              "Output@GRAD", Numbers(column ? image(4, 4, 1) : image(4, 1, 4)));
        }
        return RunOp(op, inputs, attributes, {.outputs = {output}})[output];
      };
      const Tensor column = run(true), row = run(false);
      EXPECT_EQ(column.ToVector<float>(), row.ToVector<float>()) << op;
      EXPECT_EQ(
          column.dims()[layout == "NCHW" || op.ends_with("filter") ? 3 : 2], 1)
          << op;
    }
  }
}

TEST(Conv2dGrad, IsOneOpPerDirection) {
  OpDesc op;
  op.type = "conv2d";
  op.inputs = {{"Input", {"x"}}, {"Filter", {"w"}}, {"Bias", {"b"}}};
  op.outputs = {{"Output", {"y"}}};
  const auto grads = Registry::Global().Schema("conv2d").gradient_fn()(op);
  ASSERT_EQ(grads.size(), 2U);
  EXPECT_EQ(grads[0].type, "conv2d_grad_input");
  EXPECT_EQ(grads[0].Output("Input@GRAD"), ArgVars{"x@GRAD"});
  EXPECT_EQ(grads[1].type, "conv2d_grad_filter");
  EXPECT_EQ(grads[1].Output("Bias@GRAD"), ArgVars{"b@GRAD"});
}

}  // namespace
}  // namespace sluice

// The cases with which the harness tests every kernel of the ops.
namespace sluice::testing {
namespace {

using Ints = std::vector<int64_t>;

struct ConvSizes {
  DDim input;  // NCHW
  DDim filter;
  AttributeMap attributes;
  bool bias = false;
};

// Small ones are first, because they are also compared with differences.
std::vector<ConvSizes> AllSizes() {
  const auto groups = [](int64_t count) { return Attribute(count); };
  return {
      {{2, 3, 5, 4}, {4, 3, 3, 2}, {}, true},
      {{1, 2, 5, 6}, {3, 2, 2, 3}, {{"strides", Ints{2, 3}}}},
      {{1, 1, 4, 3},
       {2, 1, 3, 3},
       {{"paddings", Ints{1, 2}}, {"strides", Ints{2, 1}}},
       true},
      {{1, 2, 6, 5}, {1, 2, 2, 2}, {{"dilations", Ints{3, 2}}}},
      {{1, 1, 3, 4}, {1, 1, 2, 3}, {{"paddings", Ints{2, 0, 1, 3}}}},
      {{2, 4, 4, 3},
       {6, 2, 2, 2},
       {{"groups", groups(2)}, {"paddings", Ints{1, 1}}},
       true},
      {{1, 3, 4, 5},
       {6, 1, 3, 3},
       {{"groups", groups(3)},
        {"paddings", Ints{2, 2}},
        {"dilations", Ints{2, 2}}}},
      {{2, 3, 3, 3}, {2, 3, 1, 1}, {}, true},
      {{2, 4, 2, 3}, {4, 2, 1, 1}, {{"groups", groups(2)}}},
      {{1, 2, 5, 5}, {3, 2, 1, 1}, {{"strides", Ints{2, 2}}}},
      {{1, 1, 1, 1}, {1, 1, 1, 1}, {}},
      {{1, 1, 1, 1}, {1, 1, 3, 3}, {{"paddings", Ints{1, 1}}}, true},
      {{0, 2, 4, 4}, {3, 2, 2, 2}, {}, true},
      {{2, 0, 3, 3}, {3, 0, 2, 2}, {}, true},
      {{2, 0, 9, 70}, {3, 0, 2, 2}, {}, true},
      {{2, 2, 3, 3}, {0, 2, 2, 2}, {}},
      {{1, 2, 0, 3}, {2, 2, 2, 2}, {{"paddings", Ints{1, 1}}}, true},
      {{5, 1, 28, 28}, {20, 1, 5, 5}, {}, true},
      {{5, 20, 12, 12}, {26, 20, 5, 5}, {}, true},
      {{3, 17, 29, 11}, {19, 17, 3, 3}, {{"paddings", Ints{1, 1}}}, true},
      {{3, 33, 13, 11},
       {33, 1, 3, 3},
       {{"groups", groups(33)}, {"paddings", Ints{1, 1}}}},
      {{2, 69, 6, 7},
       {69, 1, 3, 2},
       {{"groups", groups(69)},
        {"strides", Ints{2, 1}},
        {"dilations", Ints{1, 2}},
        {"paddings", Ints{1, 0, 2, 1}}},
       true},
      {{2, 35, 17, 19}, {37, 35, 1, 1}, {}},
      {{1, 2, 3, 700}, {3, 2, 2, 3}, {{"paddings", Ints{1, 1}}}},
      {{2, 3, 9, 69},
       {7, 3, 3, 2},
       {{"strides", Ints{2, 3}},
        {"dilations", Ints{1, 2}},
        {"paddings", Ints{1, 0, 2, 4}}},
       true},
      {{1, 6, 5, 37},
       {8, 3, 3, 3},
       {{"groups", groups(2)}, {"paddings", Ints{1, 1}}}},
      {{1, 2, 32, 32}, {1, 2, 3, 3}, {}},
      {{1, 67, 21, 35}, {13, 67, 3, 3}, {{"paddings", Ints{1, 1}}}, true},
  };
}

// The 4-d tensor's sizes in NHWC.
DDim ChannelsLast(const DDim& nchw) {
  return {nchw[0], nchw[2], nchw[3], nchw[1]};
}

std::vector<OpExample> Conv2dExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const ConvSizes& sizes : AllSizes()) {
    for (const char* format : {"NCHW", "NHWC"}) {
      const bool last = std::string(format) == "NHWC";
      OpExample example = {
          {{"Input",
            make.Values(last ? ChannelsLast(sizes.input) : sizes.input)},
           {"Filter", make.Values(sizes.filter)}},
          sizes.attributes};
      example.attributes["data_format"] = std::string(format);
      if (sizes.bias) {
        example.inputs.emplace_back("Bias", make.Values({sizes.filter[0]}));
      }
      examples.push_back(std::move(example));
    }
  }
  return examples;
}

// The elements of one product in the sum.
struct Term {
  int64_t input, filter, output;
};

DDim ConvOutputDims(const Arrays& in, const OpDesc& op) {
  const bool last = GetAttr<std::string>(op, "data_format") == "NHWC";
  const DDim& x = in.at("Input").dims;
  const DDim& w = in.at("Filter").dims;
  const Ints& pad = GetAttr<Ints>(op, "paddings");
  const auto size = [&](int i, int64_t length) {
    const int64_t both =
        pad.size() == 4 ? pad[2 * i] + pad[2 * i + 1] : 2 * pad[i];
    const int64_t reach =
        GetAttr<Ints>(op, "dilations")[i] * (w[2 + i] - 1) + 1;
    return (length + both - reach) / GetAttr<Ints>(op, "strides")[i] + 1;
  };
  const int64_t h = size(0, x[last ? 1 : 2]);
  const int64_t wide = size(1, x[last ? 2 : 3]);
  return last ? DDim{x[0], h, wide, w[0]} : DDim{x[0], w[0], h, wide};
}

// Strides of N, C, H, W in a tensor of these sizes.
struct Strides {
  Strides(const DDim& dims, bool last)
      : c(last ? 1 : dims[2] * dims[3]),
        w(last ? dims[3] : 1),
        h(w * dims[last ? 2 : 3]),
        n(dims[1] * dims[2] * dims[3]) {}
  int64_t c, w, h, n;
};

// Includes terms in the padding, whose input is -1.
template <typename Visit>
void ForEachTerm(const Arrays& in, const OpDesc& op, const Visit& visit) {
  const bool last = GetAttr<std::string>(op, "data_format") == "NHWC";
  const DDim& x = in.at("Input").dims;
  const DDim& w = in.at("Filter").dims;
  const DDim y = ConvOutputDims(in, op);
  const Ints& pad = GetAttr<Ints>(op, "paddings");
  const Ints& stride = GetAttr<Ints>(op, "strides");
  const Ints& dilation = GetAttr<Ints>(op, "dilations");
  const int64_t group_out = w[0] / GetAttr<int64_t>(op, "groups");
  const Strides xs(x, last), ys(y, last);
  const int64_t taps = w[1] * w[2] * w[3];
  for (int64_t i = 0; i < x[0] * w[0] * taps; ++i) {
    const int64_t n = i / taps / w[0], o = i / taps % w[0], tap = i % taps;
    const int64_t c = o / group_out * w[1] + tap / (w[2] * w[3]);
    const int64_t kh = tap / w[3] % w[2], kw = tap % w[3];
    for (int64_t oh = 0; oh < y[last ? 1 : 2]; ++oh) {
      const int64_t h = oh * stride[0] + kh * dilation[0] - pad[0];
      for (int64_t ow = 0; ow < y[last ? 2 : 3]; ++ow) {
        const int64_t v =
            ow * stride[1] + kw * dilation[1] - pad[pad.size() == 4 ? 2 : 1];
        const bool inside =
            h >= 0 && h < x[last ? 1 : 2] && v >= 0 && v < x[last ? 2 : 3];
        visit(Term{inside ? n * xs.n + c * xs.c + h * xs.h + v * xs.w : -1,
                   o * taps + tap,
                   n * ys.n + o * ys.c + oh * ys.h + ow * ys.w});
      }
    }
  }
}

// In bfloat16 an infinite element may count as a NaN.
template <bool kMayBeNaN>
double FilterElement(const Array& filter, int64_t i) {
  const double element = filter.values[i];
  if (!kMayBeNaN || filter.dtype != DType::kBFloat16) return element;
  return std::isinf(element) ? element - element : element;
}

template <bool kPaddingCounts>
Arrays Conv2dReference(const Arrays& in, const OpDesc& op) {
  const bool last = GetAttr<std::string>(op, "data_format") == "NHWC";
  Array out(ConvOutputDims(in, op));
  if (in.count("Bias") > 0) {
    for (size_t i = 0; i < out.values.size(); ++i) {
      const Ints at = out.IndexOf(static_cast<int64_t>(i));
      out.values[i] = in.at("Bias")(at[last ? 3 : 1]);
    }
  }
  ForEachTerm(in, op, [&](const Term& term) {
    if (term.input < 0 && !kPaddingCounts) return;
    const double x = term.input < 0 ? 0 : in.at("Input").values[term.input];
    out.values[term.output] +=
        x * FilterElement<kPaddingCounts>(in.at("Filter"), term.filter);
  });
  return {{"Output", out}};
}

std::vector<OpExample> Conv2dGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = Conv2dExamples(make);
  for (OpExample& example : examples) {
    const OpDesc op = DescribeExample("conv2d", example);
    const DDim dims = ConvOutputDims(InputArrays(example), op);
    example.inputs.resize(2);
    example.inputs.emplace_back("Output@GRAD", make.Values(dims));
  }
  return examples;
}

Arrays Conv2dGradInputReference(const Arrays& in, const OpDesc& op) {
  Array out(in.at("Input").dims);
  ForEachTerm(in, op, [&](const Term& term) {
    if (term.input < 0) return;
    out.values[term.input] += in.at("Output@GRAD").values[term.output] *
                              in.at("Filter").values[term.filter];
  });
  return {{"Input@GRAD", out}};
}

template <bool kPaddingCounts>
Arrays Conv2dGradFilterReference(const Arrays& in, const OpDesc& op) {
  const bool last = GetAttr<std::string>(op, "data_format") == "NHWC";
  const Array& grad = in.at("Output@GRAD");
  Array out(in.at("Filter").dims);
  Array bias(DDim{out.dims[0]});
  ForEachTerm(in, op, [&](const Term& term) {
    if (term.input < 0 && !kPaddingCounts) return;
    out.values[term.filter] +=
        grad.values[term.output] *
        (term.input < 0 ? 0 : in.at("Input").values[term.input]);
  });
  for (size_t i = 0; i < grad.values.size(); ++i) {
    const Ints at = grad.IndexOf(static_cast<int64_t>(i));
    bias(at[last ? 3 : 1]) += grad.values[i];
  }
  return {{"Filter@GRAD", out}, {"Bias@GRAD", bias}};
}

// The product of a NaN and padding may or may not count. Errors of winograd_4x4
// are relative to numbers larger than the result
// (operators/math/conv/conv2d_winograd.h).
REGISTER_OP_CASE(conv2d,
                 Conv2dExamples,
                 Conv2dReference<false>,
                 8,
                 Conv2dReference<true>,
                 {{"winograd_4x4", 16}});
REGISTER_OP_CASE(conv2d_grad_input,
                 Conv2dGradExamples,
                 Conv2dGradInputReference,
                 8);
REGISTER_OP_CASE(conv2d_grad_filter,
                 Conv2dGradExamples,
                 Conv2dGradFilterReference<false>,
                 8,
                 Conv2dGradFilterReference<true>);

}  // namespace
}  // namespace sluice::testing
