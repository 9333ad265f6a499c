#include <vector>

#include "tests/operators/harness/harness.h"
#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;
using Ints = std::vector<int64_t>;

TEST(Conv3d, InfersShapes) {
  const auto shape = [](const char* op, const DDim& x, const DDim& filter) {
    return InferOpShapes(op, {{"Input", x}, {"Filter", filter}, {"Bias", {8}}},
                         {{"strides", Ints{2, 1, 1}}, {"groups", int64_t{2}}})
        .at("Output");
  };
  EXPECT_EQ(shape("conv3d", {-1, 4, 7, -1, 5}, {8, 2, 3, 2, 1}),
            DDim({-1, 8, 3, -1, 5}));
  EXPECT_EQ(shape("conv3d", {2, -1, 7, 4, 5}, DDim::UnknownRank()),
            DDim({2, 8, -1, -1, -1}));
  EXPECT_EQ(shape("conv3d_transpose", {2, 4, 7, -1, 5}, {4, -1, 3, 2, 1}),
            DDim({2, 8, 15, -1, 5}));
}

}  // namespace
}  // namespace sluice

namespace sluice::testing {
namespace {

using Ints = std::vector<int64_t>;

struct Sizes {
  DDim x;
  DDim filter;
  AttributeMap attributes;
};

std::vector<OpExample> Examples(ExampleMaker& make,
                                const std::vector<Sizes>& all,
                                bool transposed) {
  std::vector<OpExample> examples;
  for (const Sizes& sizes : all) {
    OpExample example = {{{"Input", make.Values(sizes.x)},
                          {"Filter", make.Values(sizes.filter)}},
                         sizes.attributes};
    if (examples.size() % 2 == 0) {
      const auto groups = example.attributes.count("groups") > 0
                              ? std::get<int64_t>(example.attributes["groups"])
                              : 1;
      example.inputs.emplace_back(
          "Bias", make.Values({transposed ? sizes.filter[1] * groups
                                          : sizes.filter[0]}));
    }
    examples.push_back(std::move(example));
  }
  return examples;
}

std::vector<OpExample> Conv3dExamples(ExampleMaker& make) {
  return Examples(
      make,
      {{{1, 2, 3, 4, 5}, {3, 2, 2, 2, 3}, {}},
       {{2, 4, 5, 4, 6},
        {6, 2, 2, 3, 2},
        {{"groups", int64_t{2}},
         {"strides", Ints{2, 1, 3}},
         {"dilations", Ints{2, 1, 2}},
         {"paddings", Ints{1, 0, 2, 1, 0, 2}}}},
       {{1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, {}},
       {{2, 2, 4, 2, 5},
        {4, 1, 2, 1, 2},
        {{"groups", int64_t{2}},
         {"strides", Ints{2, 1, 3}},
         {"dilations", Ints{1, 1, 2}},
         {"paddings", Ints{1, 1, 0, 1, 2, 0}}}},
       {{0, 2, 3, 3, 3}, {1, 2, 2, 2, 2}, {}},
       {{1, 0, 3, 3, 3}, {2, 0, 2, 2, 2}, {}},
       {{1, 3, 9, 17, 19}, {5, 3, 3, 3, 3}, {{"paddings", Ints{1, 1, 1}}}}},
      false);
}

std::vector<OpExample> Conv3dTransposeExamples(ExampleMaker& make) {
  return Examples(
      make,
      {{{1, 2, 2, 3, 2}, {2, 3, 2, 2, 3}, {}},
       {{2, 4, 3, 2, 3},
        {4, 3, 2, 3, 2},
        {{"groups", int64_t{2}},
         {"strides", Ints{2, 1, 3}},
         {"dilations", Ints{2, 1, 2}},
         {"output_padding", Ints{1, 0, 2}},
         {"paddings", Ints{1, 0, 2, 0, 0, 1}}}},
       {{1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, {}},
       {{0, 2, 3, 3, 3}, {2, 1, 2, 2, 2}, {}},
       {{1, 3, 5, 9, 11}, {3, 5, 3, 3, 3}, {{"paddings", Ints{1, 1, 1}}}}},
      true);
}

int64_t Before(const OpDesc& op, int i) {
  const Ints& pads = GetAttr<Ints>(op, "paddings");
  return pads[pads.size() == 6 ? 2 * i : i];
}

int64_t After(const OpDesc& op, int i) {
  const Ints& pads = GetAttr<Ints>(op, "paddings");
  return pads[pads.size() == 6 ? 2 * i + 1 : i];
}

// Calls visit(window, element, tap, inside) for each pair of a window and a tap
// of the filter: their indices and the element's along the three axes.
template <typename Visit>
void Conv3dForEachTerm(const OpDesc& op,
                       const DDim& windows,
                       const DDim& filter,
                       const DDim& volume,
                       const Visit& visit) {
  const Array window({windows[2], windows[3], windows[4]});
  const Array taps({filter[2], filter[3], filter[4]});
  for (int64_t w = 0; w < window.dims.numel(); ++w) {
    for (int64_t t = 0; t < taps.dims.numel(); ++t) {
      const Ints at = window.IndexOf(w), tap = taps.IndexOf(t);
      Ints element(3);
      bool inside = true;
      for (int i = 0; i < 3; ++i) {
        element[i] = at[i] * GetAttr<Ints>(op, "strides")[i] +
                     tap[i] * GetAttr<Ints>(op, "dilations")[i] - Before(op, i);
        inside = inside && element[i] >= 0 && element[i] < volume[i + 2];
      }
      visit(at, element, tap, inside);
    }
  }
}

Array WithBias(const Arrays& in, const DDim& dims) {
  Array out(dims);
  if (in.count("Bias") == 0) return out;
  for (int64_t i = 0; i < dims.numel(); ++i) {
    out.values[i] = in.at("Bias").values[out.IndexOf(i)[1]];
  }
  return out;
}

Arrays Conv3dReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("Input");
  const Array& filter = in.at("Filter");
  const int64_t groups = GetAttr<int64_t>(op, "groups");
  const int64_t channels = filter.dims[1];
  DDim dims = {x.dims[0], filter.dims[0], 0, 0, 0};
  for (int i = 0; i < 3; ++i) {
    const int64_t extent =
        (filter.dims[i + 2] - 1) * GetAttr<Ints>(op, "dilations")[i] + 1;
    dims[i + 2] = (x.dims[i + 2] + Before(op, i) + After(op, i) - extent) /
                      GetAttr<Ints>(op, "strides")[i] +
                  1;
  }
  Array out = WithBias(in, dims);
  const int64_t of_group = dims[1] / groups;
  Conv3dForEachTerm(
      op, dims, filter.dims, x.dims,
      [&](const Ints& at, const Ints& from, const Ints& tap, bool inside) {
        for (int64_t n = 0; n < dims[0]; ++n) {
          for (int64_t o = 0; o < dims[1]; ++o) {
            for (int64_t c = 0; c < channels; ++c) {
              const double value = inside ? x(n, o / of_group * channels + c,
                                              from[0], from[1], from[2])
                                          : 0;
              out(n, o, at[0], at[1], at[2]) +=
                  value * filter(o, c, tap[0], tap[1], tap[2]);
            }
          }
        }
      });
  return {{"Output", out}};
}

// The examples of conv3d with a gradient of its output instead of a bias.
std::vector<OpExample> Conv3dGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = Conv3dExamples(make);
  for (OpExample& example : examples) {
    example.inputs.resize(2);
    const OpDesc op = DescribeExample("conv3d", example);
    const Arrays in = InputArrays(example);
    example.inputs.emplace_back(
        "Output@GRAD", make.Values(Conv3dReference(in, op).at("Output").dims));
  }
  return examples;
}

// Calls visit(grad, x, filter) with the indices of the three elements of each
// product that conv3d adds up, x not for elements outside of Input.
template <typename Visit>
void Conv3dForEachProduct(const Arrays& in,
                          const OpDesc& op,
                          const Visit& visit) {
  const DDim x = in.at("Input").dims, filter = in.at("Filter").dims;
  const DDim grad = in.at("Output@GRAD").dims;
  const int64_t of_group = grad[1] / GetAttr<int64_t>(op, "groups");
  Conv3dForEachTerm(
      op, grad, filter, x,
      [&](const Ints& at, const Ints& from, const Ints& tap, bool inside) {
        if (!inside) return;
        for (int64_t n = 0; n < grad[0]; ++n) {
          for (int64_t o = 0; o < grad[1]; ++o) {
            for (int64_t c = 0; c < filter[1]; ++c) {
              visit(Ints{n, o, at[0], at[1], at[2]},
                    Ints{n, o / of_group * filter[1] + c, from[0], from[1],
                         from[2]},
                    Ints{o, c, tap[0], tap[1], tap[2]});
            }
          }
        }
      });
}

Arrays Conv3dGradInputReference(const Arrays& in, const OpDesc& op) {
  const Array& filter = in.at("Filter");
  const Array& grad = in.at("Output@GRAD");
  Array out(in.at("Input").dims);
  Conv3dForEachProduct(
      in, op, [&](const Ints& at, const Ints& from, const Ints& tap) {
        out.values[out.Offset(from)] +=
            grad.values[grad.Offset(at)] * filter.values[filter.Offset(tap)];
      });
  return {{"Input@GRAD", out}};
}

Arrays Conv3dGradFilterReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("Input");
  const Array& grad = in.at("Output@GRAD");
  Array out(in.at("Filter").dims), bias({grad.dims[1]});
  Conv3dForEachProduct(
      in, op, [&](const Ints& at, const Ints& from, const Ints& tap) {
        out.values[out.Offset(tap)] +=
            grad.values[grad.Offset(at)] * x.values[x.Offset(from)];
      });
  for (int64_t i = 0; i < grad.dims.numel(); ++i) {
    bias.values[grad.IndexOf(i)[1]] += grad.values[i];
  }
  return {{"Filter@GRAD", out}, {"Bias@GRAD", bias}};
}

Arrays Conv3dTransposeReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("Input");
  const Array& filter = in.at("Filter");
  const int64_t groups = GetAttr<int64_t>(op, "groups");
  const int64_t of_group = filter.dims[1];
  DDim dims = {x.dims[0], of_group * groups, 0, 0, 0};
  for (int i = 0; i < 3; ++i) {
    dims[i + 2] = (x.dims[i + 2] - 1) * GetAttr<Ints>(op, "strides")[i] +
                  (filter.dims[i + 2] - 1) * GetAttr<Ints>(op, "dilations")[i] +
                  1 + GetAttr<Ints>(op, "output_padding")[i] - Before(op, i) -
                  After(op, i);
  }
  Array out = WithBias(in, dims);
  const int64_t channels = x.dims[1] / groups;
  Conv3dForEachTerm(
      op, x.dims, filter.dims, dims,
      [&](const Ints& at, const Ints& to, const Ints& tap, bool inside) {
        if (!inside) return;
        for (int64_t n = 0; n < dims[0]; ++n) {
          for (int64_t c = 0; c < x.dims[1]; ++c) {
            for (int64_t o = 0; o < of_group; ++o) {
              out(n, c / channels * of_group + o, to[0], to[1], to[2]) +=
                  x(n, c, at[0], at[1], at[2]) *
                  filter(c, o, tap[0], tap[1], tap[2]);
            }
          }
        }
      });
  return {{"Output", out}};
}

}  // namespace

REGISTER_OP_CASE(conv3d, Conv3dExamples, Conv3dReference, 16);
REGISTER_OP_CASE(conv3d_grad_input,
                 Conv3dGradExamples,
                 Conv3dGradInputReference,
                 16);
REGISTER_OP_CASE(conv3d_grad_filter,
                 Conv3dGradExamples,
                 Conv3dGradFilterReference,
                 64);
REGISTER_OP_CASE(conv3d_transpose,
                 Conv3dTransposeExamples,
                 Conv3dTransposeReference,
                 16);

}  // namespace sluice::testing
