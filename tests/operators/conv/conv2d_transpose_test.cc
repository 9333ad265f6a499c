#include <string>
#include <utility>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/op/registry.h"

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;
using Ints = std::vector<int64_t>;

TEST(Conv2dTransposeGrad, IsAConvolutionAndItsGradient) {
  OpDesc op;
  op.type = "conv2d_transpose";
  op.inputs = {{"Input", {"x"}}, {"Filter", {"w"}}, {"Bias", {"b"}}};
  op.outputs = {{"Output", {"y"}}};
  const auto gradient =
      Registry::Global().Schema("conv2d_transpose").gradient_fn();
  const auto grads = gradient(op);
  ASSERT_EQ(grads.size(), 3U);
  EXPECT_EQ(grads[0].type, "conv2d");
  EXPECT_EQ(grads[0].Output("Output"), ArgVars{"x@GRAD"});
  EXPECT_EQ(grads[1].type, "conv2d_grad_filter");
  EXPECT_EQ(grads[1].Output("Filter@GRAD"), ArgVars{"w@GRAD"});
  EXPECT_EQ(grads[2].type, "reduce_sum");
  EXPECT_EQ(grads[2].Output("Out"), ArgVars{"b@GRAD"});
  op.inputs.pop_back();
  EXPECT_EQ(gradient(op).size(), 2U);
}

DDim TransposedDims(const DDim& input,
                    const DDim& filter,
                    const AttributeMap& attributes = {}) {
  return InferOpShapes("conv2d_transpose",
                       {{"Input", input}, {"Filter", filter}}, attributes)
      .at("Output");
}

TEST(Conv2dTransposeShape, InfersShapes) {
  EXPECT_EQ(
      TransposedDims({2, 4, 5, 6}, {4, 3, 2, 2}, {{"strides", Ints{2, 2}}}),
      DDim({2, 3, 10, 12}));
  EXPECT_EQ(TransposedDims({2, 5, 6, 4}, {4, 3, 3, 2},
                           {{"strides", Ints{3, 2}},
                            {"paddings", Ints{1, 0, 2, 1}},
                            {"output_padding", Ints{2, 1}},
                            {"dilations", Ints{2, 1}},
                            {"groups", int64_t{2}},
                            {"data_format", std::string("NHWC")}}),
            DDim({2, 18, 10, 6}));
  EXPECT_EQ(TransposedDims({-1, 4, -1, 6}, {4, 3, 2, 2}), DDim({-1, 3, -1, 7}));
  EXPECT_EQ(TransposedDims(DDim::UnknownRank(), {4, 3, 2, 2}),
            DDim({-1, 3, -1, -1}));
  EXPECT_EQ(TransposedDims({1, 4, 5, 5}, DDim::UnknownRank()),
            DDim({1, -1, -1, -1}));
  EXPECT_EQ(InferOpShapes("conv2d_transpose", {{"Input", {1, 3, 5, 5}},
                                               {"Filter", {3, -1, 2, 2}},
                                               {"Bias", {8}}})["Output"],
            DDim({1, 8, 6, 6}));
}

}  // namespace
}  // namespace sluice

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

using Ints = std::vector<int64_t>;

struct TransposeSizes {
  DDim input;  // NCHW
  DDim filter;
  AttributeMap attributes;
  bool bias = false;
};

// Small ones are first, because they are also compared with differences.
std::vector<TransposeSizes> Conv2dTransposeAllSizes() {
  const auto groups = [](int64_t count) { return Attribute(count); };
  const auto strides = [](int64_t height, int64_t width) {
    return AttributeMap{{"strides", Ints{height, width}}};
  };
  return {
      {{2, 3, 3, 4}, {3, 2, 3, 2}, {}, true},
      {{1, 2, 3, 3}, {2, 3, 2, 2}, strides(2, 2), true},
      {{1, 2, 3, 9}, {2, 1, 2, 2}, strides(2, 2)},
      {{1, 2, 2, 17}, {2, 1, 1, 3}, strides(1, 3), true},
      {{2, 1, 2, 19}, {1, 2, 2, 4}, strides(2, 4), true},
      {{1, 1, 2, 18}, {1, 2, 3, 1}, strides(3, 1), true},
      {{1, 1, 3, 3},
       {1, 1, 3, 3},
       {{"strides", Ints{2, 2}},
        {"paddings", Ints{1, 1}},
        {"output_padding", Ints{1, 1}}},
       true},
      {{1, 1, 3, 4}, {1, 2, 2, 3}, {{"paddings", Ints{1, 0, 1, 2}}}},
      {{1, 2, 3, 3},
       {2, 1, 3, 2},
       {{"strides", Ints{2, 1}},
        {"dilations", Ints{2, 3}},
        {"output_padding", Ints{1, 0}}}},
      {{2, 4, 3, 2},
       {4, 3, 2, 2},
       {{"groups", groups(2)}, {"paddings", Ints{1, 1}}},
       true},
      {{1, 3, 3, 4},
       {3, 2, 2, 2},
       {{"groups", groups(3)}, {"strides", Ints{2, 2}}},
       true},
      {{2, 3, 3, 3}, {3, 2, 1, 1}, {}, true},
      {{1, 4, 2, 3}, {4, 2, 1, 1}, {{"groups", groups(2)}}, true},
      {{1, 2, 3, 2}, {2, 1, 1, 1}, strides(2, 2)},
      {{1, 2, 2, 2},
       {2, 2, 2, 1},
       {{"strides", Ints{3, 2}}, {"output_padding", Ints{1, 1}}},
       true},
      {{1, 1, 1, 1}, {1, 1, 1, 1}, {}},
      {{1, 1, 1, 1}, {1, 1, 3, 3}, {{"paddings", Ints{1, 1}}}, true},
      {{0, 2, 3, 3}, {2, 3, 2, 2}, strides(2, 2), true},
      {{2, 0, 3, 3}, {0, 3, 2, 2}, strides(2, 2), true},
      {{2, 0, 3, 3}, {0, 3, 3, 2}, {}, true},
      {{2, 2, 3, 3}, {2, 0, 2, 2}, {}},
      {{1, 24, 33, 37}, {24, 13, 2, 2}, strides(2, 2), true},
      {{3, 17, 15, 11},
       {17, 19, 3, 3},
       {{"strides", Ints{2, 2}},
        {"paddings", Ints{1, 1}},
        {"output_padding", Ints{1, 1}}},
       true},
      {{1, 40, 11, 9},
       {40, 36, 4, 4},
       {{"strides", Ints{2, 2}}, {"paddings", Ints{1, 1}}}},
      {{70, 2, 5, 6}, {2, 3, 2, 2}, strides(2, 2), true},
      {{1, 5, 3, 700}, {5, 3, 2, 5}, strides(2, 5)},
  };
}

bool Conv2dTransposeChannelsLast(const OpDesc& op) {
  return GetAttr<std::string>(op, "data_format") == "NHWC";
}

std::vector<OpExample> TransposeExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const TransposeSizes& sizes : Conv2dTransposeAllSizes()) {
    for (const char* format : {"NCHW", "NHWC"}) {
      const DDim& x = sizes.input;
      const bool last = std::string(format) == "NHWC";
      OpExample example = {
          {{"Input", make.Values(last ? DDim{x[0], x[2], x[3], x[1]} : x)},
           {"Filter", make.Values(sizes.filter)}},
          sizes.attributes};
      example.attributes["data_format"] = std::string(format);
      if (sizes.bias) {
        const auto groups = sizes.attributes.find("groups");
        const int64_t count = groups == sizes.attributes.end()
                                  ? 1
                                  : std::get<int64_t>(groups->second);
        example.inputs.emplace_back("Bias",
                                    make.Values({sizes.filter[1] * count}));
      }
      examples.push_back(std::move(example));
    }
  }
  return examples;
}

// Element (n, c, h, w) of a tensor of either format.
int64_t ElementAt(
    const DDim& dims, bool last, int64_t n, int64_t c, int64_t h, int64_t w) {
  return last ? ((n * dims[1] + h) * dims[2] + w) * dims[3] + c
              : ((n * dims[1] + c) * dims[2] + h) * dims[3] + w;
}

Arrays TransposeReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("Input");
  const Array& filter = in.at("Filter");
  const DDim& w = filter.dims;
  const bool last = Conv2dTransposeChannelsLast(op);
  const Ints& stride = GetAttr<Ints>(op, "strides");
  const Ints& dilation = GetAttr<Ints>(op, "dilations");
  const Ints& more = GetAttr<Ints>(op, "output_padding");
  Ints pad = GetAttr<Ints>(op, "paddings");
  if (pad.size() == 2) pad = {pad[0], pad[0], pad[1], pad[1]};
  const auto groups = GetAttr<int64_t>(op, "groups");
  const int64_t channels = w[0], height = x.dims[last ? 1 : 2],
                width = x.dims[last ? 2 : 3];
  const auto out_size = [&](size_t i, int64_t size) {
    return (size - 1) * stride[i] - pad[2 * i] - pad[2 * i + 1] +
           dilation[i] * (w[2 + static_cast<int>(i)] - 1) + 1 + more[i];
  };
  const int64_t out_h = out_size(0, height), out_w = out_size(1, width);
  const int64_t out_c = w[1] * groups;
  Array out(last ? DDim{x.dims[0], out_h, out_w, out_c}
                 : DDim{x.dims[0], out_c, out_h, out_w});
  if (in.count("Bias") > 0) {
    for (size_t i = 0; i < out.values.size(); ++i) {
      out.values[i] =
          in.at("Bias")(out.IndexOf(static_cast<int64_t>(i))[last ? 3 : 1]);
    }
  }
  // Over all pairs of an element of the filter and a pixel of its channel.
  for (int64_t f = 0; f < w.numel(); ++f) {
    const std::vector<int64_t> at = filter.IndexOf(f);
    const int64_t o = at[0] / (channels / groups) * w[1] + at[1];
    for (int64_t i = 0; i < x.dims[0] * height * width; ++i) {
      const int64_t n = i / (height * width), row = i / width % height;
      const int64_t h = row * stride[0] + at[2] * dilation[0] - pad[0];
      const int64_t v = i % width * stride[1] + at[3] * dilation[1] - pad[2];
      if (h < 0 || h >= out_h || v < 0 || v >= out_w) continue;
      out.values[ElementAt(out.dims, last, n, o, h, v)] +=
          filter.values[f] *
          x.values[ElementAt(x.dims, last, n, at[0], row, i % width)];
    }
  }
  return {{"Output", out}};
}

REGISTER_OP_CASE(conv2d_transpose, TransposeExamples, TransposeReference, 8);

}  // namespace
}  // namespace sluice::testing
