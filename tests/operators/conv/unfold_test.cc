#include <cstdint>
#include <vector>

#include "tests/operators/harness/op_case.h"

// The cases with which the harness tests every kernel of both ops.
namespace sluice::testing {
namespace {

using Ints = std::vector<int64_t>;

std::vector<OpExample> UnfoldExamples(ExampleMaker& make) {
  const auto windows = [](const Ints& kernel, const Ints& strides,
                          const Ints& paddings, const Ints& dilations) {
    return AttributeMap{{"kernel_sizes", kernel},
                        {"strides", strides},
                        {"paddings", paddings},
                        {"dilations", dilations}};
  };
  const std::vector<std::pair<DDim, AttributeMap>> all = {
      {{2, 3, 5, 4}, windows({2, 3}, {1, 1}, {0, 0}, {1, 1})},
      {{1, 2, 7, 5}, windows({3, 2}, {2, 3}, {1, 2}, {2, 1})},
      {{1, 1, 3, 3}, windows({2, 2}, {3, 1}, {1, 0, 2, 3}, {1, 3})},
      {{2, 1, 1, 1}, windows({1, 1}, {1, 1}, {0, 0}, {1, 1})},
      {{1, 1, 2, 2}, windows({2, 2}, {5, 5}, {4, 4}, {3, 3})},
      {{1, 1, 1, 3}, windows({1, 3}, {4, 1}, {4, 5}, {1, 1})},
      {{0, 2, 3, 3}, windows({2, 2}, {1, 1}, {0, 0}, {1, 1})},
      {{1, 1, 0, 3}, windows({2, 2}, {1, 1}, {1, 1}, {1, 1})},
      {{3, 5, 31, 29}, windows({3, 3}, {1, 2}, {1, 1}, {1, 1})}};
  std::vector<OpExample> examples;
  for (const auto& [dims, attributes] : all) {
    examples.push_back({{{"X", make.Values(dims)}}, attributes});
  }
  return examples;
}

// Calls visit(element of Out, element of X or -1), window by window.
template <typename Visit>
DDim ForEachUnfolded(const Array& x, const OpDesc& op, const Visit& visit) {
  const Ints& kernel = GetAttr<Ints>(op, "kernel_sizes");
  const Ints& strides = GetAttr<Ints>(op, "strides");
  const Ints& dilations = GetAttr<Ints>(op, "dilations");
  Ints pads = GetAttr<Ints>(op, "paddings");
  if (pads.size() == 2) pads = {pads[0], pads[0], pads[1], pads[1]};
  int64_t windows[2];
  for (int i = 0; i < 2; ++i) {
    windows[i] = 0;
    int64_t begin = -pads[2 * i];
    while (begin + (kernel[i] - 1) * dilations[i] <
           x.dims[i + 2] + pads[2 * i + 1]) {
      begin += strides[i];
      ++windows[i];
    }
  }
  const Array out(DDim{x.dims[0], x.dims[1] * kernel[0] * kernel[1],
                       windows[0] * windows[1]});
  for (int64_t at = 0; at < out.dims.numel(); ++at) {
    const Ints index = out.IndexOf(at);
    const int64_t j = index[1] % kernel[1];
    const int64_t i = index[1] / kernel[1] % kernel[0];
    const int64_t c = index[1] / (kernel[0] * kernel[1]);
    const int64_t row =
        index[2] / windows[1] * strides[0] + i * dilations[0] - pads[0];
    const int64_t column =
        index[2] % windows[1] * strides[1] + j * dilations[1] - pads[2];
    const bool inside =
        row >= 0 && row < x.dims[2] && column >= 0 && column < x.dims[3];
    visit(at, inside
                  ? static_cast<int64_t>(x.Offset({index[0], c, row, column}))
                  : -1);
  }
  return out.dims;
}

Arrays UnfoldReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  Array out;
  out.dims = ForEachUnfolded(x, op, [&](int64_t /*at*/, int64_t from) {
    out.values.push_back(from < 0 ? 0 : x.values[from]);
  });
  return {{"Out", out}};
}

Arrays UnfoldGradReference(const Arrays& in, const OpDesc& op) {
  Array x_grad(in.at("X").dims);
  const Array& out_grad = in.at("Out@GRAD");
  ForEachUnfolded(x_grad, op, [&](int64_t at, int64_t from) {
    if (from >= 0) x_grad.values[from] += out_grad.values[at];
  });
  return {{"X@GRAD", x_grad}};
}

std::vector<OpExample> UnfoldGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = UnfoldExamples(make);
  for (OpExample& example : examples) {
    OpDesc op;
    op.attributes = example.attributes;
    const Array x(example.inputs[0].second.dims());
    const DDim out = ForEachUnfolded(x, op, [](auto...) {});
    example.inputs.emplace_back("Out@GRAD", make.Values(out));
  }
  return examples;
}

REGISTER_OP_CASE(unfold, UnfoldExamples, UnfoldReference);
REGISTER_OP_CASE(unfold_grad, UnfoldGradExamples, UnfoldGradReference, 4);

}  // namespace
}  // namespace sluice::testing
