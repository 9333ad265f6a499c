#include <algorithm>
#include <optional>

#include "sluice/operators/fusion/fusion.h"
#include "sluice/operators/registration.h"

// Fuses the gradients of a relu, and of a sum before it, into that of the batch
// norm whose Y the sum or relu read. They are then computed on the fly.
namespace sluice {
namespace {

// Returns the op of this type that writes `var` if `reader` is its only reader.
std::optional<int> WriterFor(const Graph& graph,
                             const ArgVars& vars,
                             int reader,
                             const char* type) {
  if (vars.empty() || graph.OnlyReader(Only(vars)) != reader) {
    return std::nullopt;
  }
  const int writer = graph.Writer(Only(vars));
  if (writer < 0 || graph.op(writer).desc.type != type) return std::nullopt;
  return writer;
}

// Returns the other output of elementwise_add_grad `add` besides `grad`, if
// both equal Out@GRAD. It is empty if that gradient is not requested.
std::optional<ArgVars> OtherSummand(const Graph& graph,
                                    const OpDesc& add,
                                    const std::string& grad) {
  const auto& out = graph.dims(Only(add.Input("Out@GRAD")));
  for (const char* input : {"X", "Y"}) {
    if (graph.dims(Only(add.Input(input))) != out) return std::nullopt;
  }
  const ArgVars& x = add.Output("X@GRAD");
  return !x.empty() && Only(x) == grad ? add.Output("Y@GRAD") : x;
}

bool FuseNormGrad(Graph& graph, int id) {
  OpDesc op = graph.op(id).desc;
  if (op.Output("X@GRAD").empty()) return false;
  const ArgVars y_grad = op.Input("Y@GRAD");
  std::vector<int> ids = {id};
  ArgVars residual;
  auto relu = WriterFor(graph, y_grad, id, "relu_grad");
  if (const auto add = WriterFor(graph, y_grad, id, "elementwise_add_grad")) {
    const OpDesc& sum = graph.op(*add).desc;
    const auto other = OtherSummand(graph, sum, Only(y_grad));
    if (!other) return false;
    residual = *other;
    ids.insert(ids.begin(), *add);
    relu = WriterFor(graph, sum.Input("Out@GRAD"), *add, "relu_grad");
  }
  if (!relu) return false;
  ids.insert(ids.begin(), *relu);
  const OpDesc& relu_op = graph.op(*relu).desc;
  for (auto& [argument, vars] : op.inputs) {
    if (argument == "Y@GRAD") vars = relu_op.Input("Out@GRAD");
  }
  op.type = "fused_batch_norm_grad";
  op.hint.clear();  // the graph keeps it
  op.inputs.push_back({"Out", relu_op.Input("Out")});
  if (!residual.empty()) op.outputs.push_back({"Residual@GRAD", residual});
  for (const std::string& var : residual) {
    for (const int reader : graph.Readers(var)) {
      if (graph.Precedes(reader, id)) return false;
    }
  }
  return graph.Replace(ids, op);
}

int FuseNormGrads(Graph& graph) {
  int changes = 0;
  const std::vector<int> order = graph.order();
  for (const int id : order) {
    if (graph.op(id).desc.type != "batch_norm_grad") continue;
    if (FuseNormGrad(graph, id)) ++changes;
  }
  return changes;
}

}  // namespace

// Runs after the layout passes, which may separate these ops.
REGISTER_PASS(fuse_norm_grad, 30, FuseNormGrads);

}  // namespace sluice
