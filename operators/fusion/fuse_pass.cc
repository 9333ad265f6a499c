#include <vector>

#include "sluice/framework/op/op_schema.h"
#include "sluice/operators/chain/chain_steps.h"
#include "sluice/operators/fusion/fusion.h"
#include "sluice/operators/registration.h"

// Fuses the ops after a product or a convolution into it: the bias, and chains
// of element-wise ops (chain/chain_steps.h). Also fuses chains into a batch
// norm that is not part of a convolution.
namespace sluice {
namespace {

bool TakesSteps(const PreparedOp& op, bool layouts_are_known) {
  // Before that, a batch norm may still be folded into a convolution.
  return !op.schema->fused_type().empty() &&
         (layouts_are_known || op.schema->product());
}

// An operand has the output's layout. Layout passes may still change the layout
// of a convolution's output, so its operands are fused after them.
bool TakesOperands(const OpDesc& op, bool layouts_are_known) {
  return layouts_are_known || op.attributes.count("data_format") == 0;
}

// Returns the fusions that begin with op `first`, each one op longer.
std::vector<Fusion> FusionsOf(const Graph& graph,
                              int first,
                              bool layouts_are_known) {
  Fusion fusion(graph.op(first).desc, first);
  std::vector<Fusion> fusions;
  // A bias comes before a batch norm, and both come before steps.
  if (fusion.op.Input("Scale").empty() && StepsOf(fusion.op).empty()) {
    TakeInBias(graph, &fusion);
    if (fusion.ids.size() > 1) fusions.push_back(fusion);
  }
  while (const auto reader = graph.OnlyReader(fusion.out())) {
    const OpDesc& step = graph.op(*reader).desc;
    const bool takes = TakesOperands(fusion.op, layouts_are_known);
    if (ReadsOperand(step) && !takes) break;
    if (!AppendChainStep(graph, fusion.out(), step, &fusion.op)) break;
    fusion.TakeIn(*reader, step, "Out");
    fusions.push_back(fusion);
  }
  return fusions;
}

int FuseSteps(Graph& graph, bool layouts_are_known) {
  int changes = 0;
  const std::vector<int> order = graph.order();
  for (const int id : order) {
    if (!TakesSteps(graph.op(id), layouts_are_known)) continue;
    auto fusions = FusionsOf(graph, id, layouts_are_known);
    for (; !fusions.empty(); fusions.pop_back()) {
      if (!CanRunLast(graph, fusions.back())) continue;
      if (!graph.Replace(fusions.back().ids, fusions.back().op)) continue;
      ++changes;
      break;
    }
  }
  return changes;
}

int FuseActivations(Graph& graph) {
  return FuseSteps(graph, /*layouts_are_known=*/false);
}

int FuseTurned(Graph& graph) {
  return FuseSteps(graph, /*layouts_are_known=*/true);
}

}  // namespace

REGISTER_PASS(fuse_activations, 20, FuseActivations);
// Repeated after layouts are assigned: kernels change, and operands are
// allowed.
REGISTER_PASS(fuse_turned, 30, FuseTurned);

}  // namespace sluice
