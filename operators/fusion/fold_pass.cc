#include <algorithm>

#include "sluice/operators/fusion/fusion.h"
#include "sluice/operators/registration.h"

// Folds a batch norm with constant statistics into the convolution before it
// (folded_norm.h). At inference it then costs nothing.
namespace sluice {
namespace {

// Whether only batch_norm `id` writes a running statistic. It writes it
// unchanged, as it does not train.
bool KeepsStatistic(const Graph& graph, int id, const std::string& var) {
  return graph.IsPersistable(var) && graph.Writer(var) == id;
}

// Whether the outputs of a batch_norm other than Y are unused.
bool NobodySeesItsStatistics(const Graph& graph, int id) {
  const OpDesc& norm = graph.op(id).desc;
  const auto unseen = [&](const char* output, const char* kept) {
    const ArgVars& vars = norm.Output(output);
    return std::all_of(vars.begin(), vars.end(), [&](const std::string& var) {
      if (kept != nullptr && var == Only(norm.Input(kept))) return true;
      return graph.IsInternal(var) && graph.Readers(var).empty();
    });
  };
  return unseen("SavedMean", nullptr) && unseen("SavedVariance", nullptr) &&
         unseen("MeanOut", "Mean") && unseen("VarianceOut", "Variance");
}

bool AreConstant(const Graph& graph,
                 const OpDesc& op,
                 std::initializer_list<const char*> inputs) {
  return std::all_of(inputs.begin(), inputs.end(), [&](const char* input) {
    const ArgVars& vars = op.Input(input);
    return std::all_of(vars.begin(), vars.end(), [&](const std::string& var) {
      return graph.IsConstant(var);
    });
  });
}

bool Folds(const Graph& graph, const OpDesc& conv, int id) {
  const OpDesc& norm = graph.op(id).desc;
  if (norm.type != "batch_norm" ||
      !std::get<bool>(norm.attributes.at("is_test")) ||
      norm.attributes.at("data_format") != conv.attributes.at("data_format")) {
    return false;
  }
  const auto fixed = [&](const char* input) {
    return AreConstant(graph, norm, {input}) ||
           KeepsStatistic(graph, id, Only(norm.Input(input)));
  };
  return AreConstant(graph, conv, {"Filter", "Bias"}) &&
         AreConstant(graph, norm, {"Scale", "Bias"}) && fixed("Mean") &&
         fixed("Variance") && NobodySeesItsStatistics(graph, id);
}

void TakeInNorm(const OpDesc& norm, int id, Fusion* fusion) {
  auto& inputs = fusion->op.inputs;
  inputs.push_back({"Scale", norm.Input("Scale")});
  inputs.push_back({"Shift", norm.Input("Bias")});
  inputs.push_back({"Mean", norm.Input("Mean")});
  inputs.push_back({"Variance", norm.Input("Variance")});
  fusion->op.attributes["epsilon"] = norm.attributes.at("epsilon");
  fusion->TakeIn(id, norm, "Y");
}

int FoldBatchNorm(Graph& graph) {
  int changes = 0;
  const std::vector<int> order = graph.order();
  for (const int id : order) {
    if (graph.op(id).desc.type != "conv2d") continue;
    const OpDesc conv = graph.op(id).desc;
    Fusion fusion(conv, id);
    TakeInBias(graph, &fusion);
    const auto reader = graph.OnlyReader(fusion.out());
    if (!reader) continue;
    const OpDesc norm = graph.op(*reader).desc;
    if (!Folds(graph, fusion.op, *reader)) continue;
    TakeInNorm(norm, *reader, &fusion);
    if (graph.Replace(fusion.ids, fusion.op)) ++changes;
  }
  return changes;
}

}  // namespace

REGISTER_PASS(fold_batch_norm, 10, FoldBatchNorm);
// Repeated after convolutions changed their layout, and with it their kernel.
REGISTER_PASS(fold_turned, 28, FoldBatchNorm);

}  // namespace sluice
