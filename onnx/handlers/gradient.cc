#include <algorithm>

#include "sluice/onnx/import/handlers.h"

// Operators of ai.onnx.preview.training.
namespace sluice::onnx {
namespace {

// dy/dx for each value named by `xs`, at these values. Inputs with other values
// would replace them, which the program cannot express.
void Gradient(Node& node) {
  const auto xs = node.attributes().Strings("xs");
  const auto zs = node.attributes().Strings("zs");
  const std::string y = node.attributes().String("y", "");
  std::vector<std::string> named = xs;
  named.insert(named.end(), zs.begin(), zs.end());
  for (int i = 0; i < node.input_count(); ++i) {
    if (static_cast<size_t>(i) >= named.size() || node.In(i) != named[i]) {
      Node::Unsupported("its input {} is not the value that xs or zs names", i);
    }
  }
  SLUICE_ENFORCE(static_cast<size_t>(node.output_count()) <= xs.size(),
                 ErrorCode::kInvalidArgument, "onnx.gradient_outputs",
                 "it has {} outputs, and attribute xs names {} values; "
                 "expected an output for each",
                 node.output_count(), xs.size());
  const DDim dims = node.DimsOf(y);
  if (!dims.known() || dims.numel() != 1) {
    Node::Unsupported("y has shape {}; expected one number", Printable(dims));
  }
  const auto gradients = node.AppendGradients(y, xs);
  for (int i = 0; i < node.output_count(); ++i) {
    if (!node.HasOutput(i)) continue;
    const std::string& gradient = gradients[static_cast<size_t>(i)];
    if (gradient.empty()) {
      Node::Unsupported("y does not depend on {}", xs[static_cast<size_t>(i)]);
    }
    node.FinishOutput(i, "assign", {{"X", {gradient}}});
  }
}

constexpr HandlerRow kGradientRows[] = {{"Gradient", 1, Gradient}};

}  // namespace

std::span<const HandlerRow> GradientHandlers() {
  return kGradientRows;
}

}  // namespace sluice::onnx
