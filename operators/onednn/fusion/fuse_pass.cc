#include <string>

#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/onednn/fusion/fusion.h"

// Takes what follows a product or a convolution into it: the bias, and the
// activation. oneDNN applies both while the output is still in registers.
namespace sluice::operators::onednn {
namespace {

using framework::Graph;
using framework::OpDesc;

bool IsActivation(const OpDesc& op) {
  return op.type == "relu" || op.type == "sigmoid" || op.type == "tanh";
}

// Whether something may be taken in.
bool IsFirst(const OpDesc& op) {
  if (op.type == "fused_conv2d") {
    return std::get<std::string>(op.attributes.at("activation")).empty();
  }
  return op.type == "mul" || op.type == "matmul" || op.type == "conv2d";
}

void TakeInActivation(const Graph& graph, Fusion* fusion) {
  const auto reader = OnlyReader(graph, fusion->out());
  if (!reader) return;
  const OpDesc& activation = graph.op(*reader).desc;
  if (!IsActivation(activation)) return;
  fusion->op.attributes["activation"] = activation.type;
  fusion->TakeIn(*reader, activation, "Out");
}

int FuseActivations(Graph& graph) {
  int changes = 0;
  const std::vector<int> order = graph.order();
  for (const int id : order) {
    const OpDesc first = graph.op(id).desc;
    if (!IsFirst(first)) continue;
    Fusion fusion(first, id);
    // A batch norm in it comes after its bias.
    if (fusion.op.Input("Scale").empty()) TakeInBias(graph, &fusion);
    const Fusion with_bias = fusion;
    TakeInActivation(graph, &fusion);
    if (fusion.ids.size() == 1) continue;
    const bool bias_alone =
        with_bias.ids.size() > 1 && with_bias.ids.size() < fusion.ids.size();
    if (graph.Replace(fusion.ids, fusion.op) ||
        (bias_alone && graph.Replace(with_bias.ids, with_bias.op))) {
      ++changes;
    }
  }
  return changes;
}

}  // namespace

REGISTER_PASS(fuse_activations, 20, FuseActivations);
// Once more where a turned convolution has another kernel than before.
REGISTER_PASS(fuse_turned, 30, FuseActivations);

}  // namespace sluice::operators::onednn
