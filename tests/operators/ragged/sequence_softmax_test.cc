#include <algorithm>
#include <cmath>

#include "tests/operators/ragged/ragged_examples.h"

namespace sluice::testing {
namespace {

Arrays SoftmaxReference(const Arrays& in, const OpDesc& /*op*/) {
  const Array& x = in.at("X");
  const int64_t width = WidthOf(x.dims);
  Array out(x.dims);
  for (const auto& rows : RowsOfSequences(in)) {
    for (int64_t c = 0; c < width; ++c) {
      double most = -HUGE_VAL;
      double sum = 0;
      for (const int64_t row : rows) {
        most = std::max(most, x.values[row * width + c]);
      }
      for (const int64_t row : rows) {
        sum += std::exp(x.values[row * width + c] - most);
      }
      for (const int64_t row : rows) {
        out.values[row * width + c] =
            std::exp(x.values[row * width + c] - most) / sum;
      }
    }
  }
  return {{"Out", out}};
}

Arrays SoftmaxGradReference(const Arrays& in, const OpDesc& /*op*/) {
  const Array& out = in.at("Out");
  const Array& grad = in.at("Out@GRAD");
  const int64_t width = WidthOf(out.dims);
  Array x_grad(out.dims);
  for (const auto& rows : RowsOfSequences(in)) {
    for (const int64_t row : rows) {
      for (int64_t c = 0; c < width; ++c) {
        // The row's column of the Jacobian.
        double sum = 0;
        for (const int64_t other : rows) {
          const double same = row == other ? 1 : 0;
          sum += grad.values[other * width + c] *
                 out.values[other * width + c] *
                 (same - out.values[row * width + c]);
        }
        x_grad.values[row * width + c] = sum;
      }
    }
  }
  return {{"X@GRAD", x_grad}};
}

std::vector<OpExample> SoftmaxExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const int64_t width : {1, 3}) {
    for (const Lengths& lengths : ManyLengths()) {
      examples.push_back(
          {{{"X", make.Values({OffsetsOf(lengths).back(), width})},
            {"Offsets", OffsetsTensor(lengths)}},
           {}});
    }
  }
  return examples;
}

std::vector<OpExample> SoftmaxGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = SoftmaxExamples(make);
  for (OpExample& example : examples) {
    Arrays in;
    for (const auto& [name, tensor] : example.inputs) {
      in[name] = ToArray(tensor);
    }
    const DDim dims = in.at("X").dims;
    const Array out = SoftmaxReference(in, OpDesc()).at("Out");
    example.inputs[0] = {"Out", ToTensor(out, make.dtype())};
    example.inputs.emplace_back("Out@GRAD", make.Values(dims));
  }
  return examples;
}

REGISTER_OP_CASE(sequence_softmax, SoftmaxExamples, SoftmaxReference, 8);
REGISTER_OP_CASE(sequence_softmax_grad,
                 SoftmaxGradExamples,
                 SoftmaxGradReference,
                 16);

}  // namespace
}  // namespace sluice::testing
