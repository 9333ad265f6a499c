#include <cmath>
#include <string>
#include <vector>

#include "tests/operators/harness/harness.h"
#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using testing::InferOpShapes;
using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

Tensor Line(const Floats& x) {
  return Tensor::FromVector({1, 1, 1, 1, static_cast<int64_t>(x.size())}, x);
}

Floats Pool3dPool(const Floats& x, AttributeMap attributes) {
  return RunOp("pool3d", {{"X", Line(x)}}, attributes)["Out"].ToVector<float>();
}

TEST(Pool3d, WindowsOfNothingHaveNoMaximum) {
  AttributeMap attributes = {{"ksize", Ints{1, 1, 2}},
                             {"dilations", Ints{1, 1, 4}},
                             {"paddings", Ints{0, 0, 2}}};
  EXPECT_EQ(Pool3dPool({3}, attributes), (Floats{-HUGE_VALF}));
  attributes["pooling_type"] = std::string("avg");
  EXPECT_TRUE(std::isnan(Pool3dPool({3}, attributes)[0]));
  attributes["exclusive"] = false;
  EXPECT_EQ(Pool3dPool({3}, attributes), (Floats{0}));
}

TEST(Pool3d, MaskIsWhereTheFirstMaximumIs) {
  const float nan = std::nanf("");
  const Tensor x = Tensor::FromVector<float>(
      {1, 2, 1, 2, 3}, {1, 5, 5, 2, 5, 0, 7, nan, 1, nan, 0, 9});
  const auto mask =
      RunOp("pool3d", {{"X", x}},
            {{"ksize", Ints{1, 2, 2}}, {"pooling_type", std::string("max")}},
            {.outputs = {"Mask"}})["Mask"];
  EXPECT_EQ(mask.ToVector<int64_t>(), (Ints{1, 1, 7, 7}));
}

TEST(Pool3d, InfersShapes) {
  const auto out = InferOpShapes("pool3d", {{"X", {-1, 2, 7, -1, 6}}},
                                 {{"ksize", Ints{2, 3, 2}},
                                  {"strides", Ints{2, 1, 3}},
                                  {"dilations", Ints{2, 1, 2}},
                                  {"paddings", Ints{0, 1, 0, 0, 2, 1}}});
  EXPECT_EQ(out.at("Out"), DDim({-1, 2, 3, -1, 3}));
  EXPECT_EQ(out.at("Mask"), DDim({-1, 2, 3, -1, 3}));
}

}  // namespace
}  // namespace sluice

namespace sluice::testing {
namespace {

using Ints = std::vector<int64_t>;

std::vector<OpExample> Pool3dExamples(ExampleMaker& make) {
  const Ints two = {2, 2, 2};
  const std::vector<std::pair<DDim, AttributeMap>> sizes = {
      {{1, 2, 4, 5, 6}, {{"ksize", two}, {"strides", two}}},
      {{2, 1, 3, 4, 7},
       {{"ksize", Ints{1, 2, 3}},
        {"dilations", Ints{1, 3, 2}},
        {"paddings", Ints{0, 0, 1, 0, 2, 1}}}},
      {{1, 1, 5, 5, 5},
       {{"ksize", two}, {"strides", Ints{3, 3, 2}}, {"ceil_mode", true}}},
      {{1, 1, 1, 1, 1}, {{"ksize", Ints{1, 1, 1}}}},
      {{0, 3, 2, 2, 2}, {{"ksize", two}}},
      {{3, 11, 9, 13, 21}, {{"ksize", two}, {"strides", two}}}};
  std::vector<OpExample> examples;
  for (const auto& [x, attributes] : sizes) {
    for (const char* type : {"max", "avg", "all"}) {
      OpExample example = {{{"X", make.Values(x)}}, attributes};
      example.attributes["pooling_type"] =
          std::string(type[0] == 'm' ? "max" : "avg");
      example.attributes["exclusive"] = type != std::string("all");
      examples.push_back(std::move(example));
    }
  }
  return examples;
}

struct Window {
  std::vector<size_t> elements;  // of X, in order
  double padded = 0;             // with those in the padding
};

// Element by element, from the definition.
Window WindowOf(const Array& x, const OpDesc& op, const Ints& out) {
  const Ints& ksize = GetAttr<Ints>(op, "ksize");
  const Ints& pads = GetAttr<Ints>(op, "paddings");
  Window window;
  for (int64_t tap = 0; tap < ksize[0] * ksize[1] * ksize[2]; ++tap) {
    const Ints k = {tap / ksize[2] / ksize[1], tap / ksize[2] % ksize[1],
                    tap % ksize[2]};
    Ints at = out;
    bool inside = true, padded = true;
    for (int i = 0; i < 3; ++i) {
      const int64_t before = pads[pads.size() == 6 ? 2 * i : i];
      const int64_t after = pads[pads.size() == 6 ? 2 * i + 1 : i];
      at[i + 2] = out[i + 2] * GetAttr<Ints>(op, "strides")[i] - before +
                  k[i] * GetAttr<Ints>(op, "dilations")[i];
      inside = inside && at[i + 2] >= 0 && at[i + 2] < x.dims[i + 2];
      padded = padded && at[i + 2] < x.dims[i + 2] + after;
    }
    if (inside) window.elements.push_back(x.Offset(at));
    window.padded += padded ? 1 : 0;
  }
  return window;
}

DDim Pool3dOutDims(const DDim& x, const OpDesc& op) {
  DDim out = x;
  const Ints& pads = GetAttr<Ints>(op, "paddings");
  for (int i = 0; i < 3; ++i) {
    const int64_t before = pads[pads.size() == 6 ? 2 * i : i];
    const int64_t after = pads[pads.size() == 6 ? 2 * i + 1 : i];
    const int64_t reach =
        (GetAttr<Ints>(op, "ksize")[i] - 1) * GetAttr<Ints>(op, "dilations")[i];
    int64_t count = 0;
    for (int64_t at = -before; at < x[i + 2];
         at += GetAttr<Ints>(op, "strides")[i]) {
      const bool whole = at + reach < x[i + 2] + after;
      if (!whole && !GetAttr<bool>(op, "ceil_mode")) break;
      ++count;
      if (at + reach >= x[i + 2] + after - 1) break;
    }
    out[i + 2] = count;
  }
  return out;
}

// The element with the maximum, the first of equal ones, or of NaN.
size_t Largest(const Array& x, const Window& window) {
  size_t best = window.elements.at(0);
  for (const size_t at : window.elements) {
    if (std::isnan(x.values[best])) break;
    if (!(x.values[at] <= x.values[best])) best = at;
  }
  return best;
}

double Count(const OpDesc& op, const Window& window) {
  return GetAttr<bool>(op, "exclusive")
             ? static_cast<double>(window.elements.size())
             : window.padded;
}

Arrays Pool3dReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  Array out(Pool3dOutDims(x.dims, op)), mask(Pool3dOutDims(x.dims, op));
  for (int64_t i = 0; i < out.dims.numel(); ++i) {
    const Window window = WindowOf(x, op, out.IndexOf(i));
    if (GetAttr<std::string>(op, "pooling_type") == "max") {
      const size_t best = Largest(x, window);
      out.values[i] = x.values[best];
      mask.values[i] = static_cast<double>(best);
      continue;
    }
    double sum = 0;
    for (const size_t at : window.elements)
      sum += x.values[at];
    out.values[i] = sum / Count(op, window);
    mask.values[i] = -1;
  }
  return {{"Out", out}, {"Mask", mask}};
}

std::vector<OpExample> Pool3dGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = Pool3dExamples(make);
  for (OpExample& example : examples) {
    const OpDesc op = DescribeExample("pool3d", example);
    const DDim out = Pool3dOutDims(example.inputs[0].second.dims(), op);
    example.inputs.emplace_back("Out@GRAD", make.Values(out));
  }
  return examples;
}

Arrays Pool3dGradReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  const Array& grad = in.at("Out@GRAD");
  Array out(x.dims);
  for (int64_t i = 0; i < grad.dims.numel(); ++i) {
    const Window window = WindowOf(x, op, grad.IndexOf(i));
    if (GetAttr<std::string>(op, "pooling_type") == "max") {
      out.values[Largest(x, window)] += grad.values[i];
      continue;
    }
    for (const size_t at : window.elements) {
      out.values[at] += grad.values[i] / Count(op, window);
    }
  }
  return {{"X@GRAD", out}};
}

}  // namespace

REGISTER_OP_CASE(pool3d, Pool3dExamples, Pool3dReference);
REGISTER_OP_CASE(pool3d_grad, Pool3dGradExamples, Pool3dGradReference);

}  // namespace sluice::testing
