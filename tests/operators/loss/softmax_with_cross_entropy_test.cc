#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/operators/harness/op_case.h"

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

// Values in [0.25, 0.375] with an arbitrary sum.
Tensor Weights(ExampleMaker& make, const DDim& dims) {
  Array weights = ToArray(make.Values(dims));
  for (double& value : weights.values) {
    value = 0.25 + std::abs(std::tanh(value)) / 8;
  }
  return ToTensor(weights, make.dtype());
}

DDim RowDims(DDim dims, int axis = -1) {
  dims[axis < 0 ? dims.rank() + axis : axis] = 1;
  return dims;
}

std::vector<OpExample> Examples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const DDim& dims :
       {DDim{3, 5}, {1, 1}, {0, 4}, {7}, {2, 3, 19}, {261, 131}, {1999, 10}}) {
    const int64_t classes = dims[dims.rank() - 1];
    examples.push_back({{{"Logits", make.Values(dims)},
                         {"Label", make.Integers(DType::kInt64, RowDims(dims),
                                                 0, classes - 1)}},
                        {{"ignore_index", int64_t{classes > 4 ? 2 : -100}}}});
    examples.push_back(
        {{{"Logits", make.Values(dims)}, {"Label", Weights(make, dims)}},
         {{"soft_label", true}}});
  }
  for (const auto& [dims, axis] : std::vector<std::pair<DDim, int>>{
           {{3, 4}, 0}, {{2, 3, 5}, -2}, {{2, 3, 0}, 1}, {{7, 9, 130}, 1}}) {
    const int64_t classes = dims[axis < 0 ? dims.rank() + axis : axis];
    examples.push_back(
        {{{"Logits", make.Values(dims)},
          {"Label", make.Integers(DType::kInt64, RowDims(dims, axis), 0,
                                  std::max<int64_t>(classes - 1, 0))}},
         {{"axis", int64_t{axis}}}});
    examples.push_back(
        {{{"Logits", make.Values(dims)}, {"Label", Weights(make, dims)}},
         {{"soft_label", true}, {"axis", int64_t{axis}}}});
  }
  return examples;
}

// The classes, and how far they are apart.
struct Along {
  int64_t size, step;
  explicit Along(const DDim& dims, const OpDesc& op) {
    const auto axis = static_cast<int>(GetAttr<int64_t>(op, "axis"));
    const int at = axis < 0 ? axis + dims.rank() : axis;
    size = dims[at];
    step = 1;
    for (int i = at + 1; i < dims.rank(); ++i) {
      step *= dims[i];
    }
  }
  // The element of class j of row i.
  size_t At(int64_t i, int64_t j) const {
    return (i / step * size + j) * step + i % step;
  }
};

// The weight of class j in row i, for any kind of labels.
double WeightOf(const Arrays& in,
                const OpDesc& op,
                int64_t i,
                int64_t j,
                const Along& along) {
  const Array& label = in.at("Label");
  if (GetAttr<bool>(op, "soft_label")) return label.values[along.At(i, j)];
  const auto index = static_cast<int64_t>(label.values[i]);
  return index == j && index != GetAttr<int64_t>(op, "ignore_index") ? 1 : 0;
}

Arrays Reference(const Arrays& in, const OpDesc& op) {
  const Array& logits = in.at("Logits");
  const Along along(logits.dims, op);
  Array softmax(logits.dims),
      loss(
          RowDims(logits.dims, static_cast<int>(GetAttr<int64_t>(op, "axis"))));
  for (size_t row = 0; row < loss.values.size(); ++row) {
    const auto i = static_cast<int64_t>(row);
    double sum = 0;
    for (int64_t j = 0; j < along.size; ++j) {
      sum += std::exp(logits.values[along.At(i, j)]);
    }
    for (int64_t j = 0; j < along.size; ++j) {
      const size_t at = along.At(i, j);
      softmax.values[at] = std::exp(logits.values[at]) / sum;
      loss.values[row] -=
          WeightOf(in, op, i, j, along) * std::log(softmax.values[at]);
    }
  }
  return {{"Softmax", softmax}, {"Loss", loss}};
}

DDim LossDimsOf(const OpExample& example) {
  const auto axis = example.attributes.find("axis");
  return RowDims(example.inputs[0].second.dims(),
                 axis == example.attributes.end()
                     ? -1
                     : static_cast<int>(std::get<int64_t>(axis->second)));
}

std::vector<OpExample> GradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = Examples(make);
  int number = 0;
  for (OpExample& example : examples) {
    const DDim dims = example.inputs[0].second.dims();
    const DDim loss = LossDimsOf(example);
    example.inputs.erase(example.inputs.begin());
    example.inputs.emplace_back("Softmax", Weights(make, dims));
    if (number % 3 != 0) {
      example.inputs.emplace_back("Softmax@GRAD", make.Values(dims));
    }
    if (number % 3 != 1) {
      example.inputs.emplace_back("Loss@GRAD", make.Values(loss));
    }
    ++number;
  }
  return examples;
}

Arrays GradReference(const Arrays& in, const OpDesc& op) {
  const Array& softmax = in.at("Softmax");
  const Along along(softmax.dims, op);
  Array grad(softmax.dims);
  const int64_t elements = softmax.dims.numel();
  const int64_t rows = along.size == 0 ? 0 : elements / along.size;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t k = 0; k < along.size; ++k) {
      const size_t at = along.At(i, k);
      for (int64_t j = 0; j < along.size; ++j) {
        const size_t other = along.At(i, j);
        const double same = j == k ? 1 : 0;
        if (in.count("Softmax@GRAD") > 0) {
          grad.values[at] += in.at("Softmax@GRAD").values[other] *
                             softmax.values[other] *
                             (same - softmax.values[at]);
        }
        if (in.count("Loss@GRAD") > 0) {
          grad.values[at] += in.at("Loss@GRAD").values[i] *
                             WeightOf(in, op, i, j, along) *
                             (softmax.values[at] - same);
        }
      }
    }
  }
  return {{"Logits@GRAD", grad}};
}

std::vector<OpExample> LabelGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (OpExample& example : Examples(make)) {
    if (example.attributes.count("soft_label") == 0) continue;
    example.inputs.emplace_back("Loss@GRAD", make.Values(LossDimsOf(example)));
    examples.push_back(example);
  }
  return examples;
}

Arrays LabelGradReference(const Arrays& in, const OpDesc& op) {
  const Array softmax = Reference(in, op).at("Softmax");
  const Along along(softmax.dims, op);
  Array grad(softmax.dims);
  const Array& scale = in.at("Loss@GRAD");
  for (size_t row = 0; row < scale.values.size(); ++row) {
    for (int64_t j = 0; j < along.size; ++j) {
      const size_t at = along.At(static_cast<int64_t>(row), j);
      grad.values[at] = -std::log(softmax.values[at]) * scale.values[row];
    }
  }
  return {{"Label@GRAD", grad}};
}

// Sums of up to 131 terms.
REGISTER_OP_CASE(softmax_with_cross_entropy, Examples, Reference, 64);
REGISTER_OP_CASE(softmax_with_cross_entropy_grad,
                 GradExamples,
                 GradReference,
                 64);
REGISTER_OP_CASE(softmax_with_cross_entropy_grad_label,
                 LabelGradExamples,
                 LabelGradReference,
                 64);

}  // namespace
}  // namespace sluice::testing
