#include "sluice/onnx/handlers/hard_swish.h"

#include <string>

namespace sluice::onnx {

namespace {

double Number(const OpDesc& op, const char* attribute) {
  return std::get<double>(op.attributes.at(attribute));
}

// Returns whether `variable` is clip(x + 3, 0, 6).
bool IsGate(const Node& node,
            const std::string& variable,
            const std::string& x) {
  const OpDesc* clip = node.OnlyReadOnce(variable);
  if (clip == nullptr || clip->type != "clip" || !clip->Input("Min").empty() ||
      !clip->Input("Max").empty() || Number(*clip, "min") != 0 ||
      Number(*clip, "max") != 6) {
    return false;
  }
  const OpDesc* sum = node.OnlyReadOnce(clip->Input("X")[0]);
  return sum != nullptr && sum->type == "scale" && Number(*sum, "scale") == 1 &&
         Number(*sum, "bias") == 3 && sum->Input("X")[0] == x;
}

}  // namespace

bool ImportHardSwish(Node& node) {
  const OpDesc* product = node.OnlyReadHere(0);
  if (product == nullptr || product->type != "elementwise_mul") return false;
  const std::string left = product->Input("X")[0];
  const std::string right = product->Input("Y")[0];
  if (!IsGate(node, right, left) && !IsGate(node, left, right)) return false;
  node.FinishUnary("hard_swish", IsGate(node, right, left) ? left : right);
  return true;
}

}  // namespace sluice::onnx
