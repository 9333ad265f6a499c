#include <algorithm>

#include "sluice/framework/plan/graph.h"
#include "sluice/operators/registration.h"

// Fuses a relu and the pool2d after it into one op, and so their gradients.
// Each direction then saves a pass over the larger tensor. The bits are
// unchanged.
namespace sluice {
namespace {

// Returns the single variable of an argument.
const std::string& Only(const ArgVars& vars) {
  return vars.front();
}

// Fuses a pool2d_grad and the relu_grad that is its only reader, if they belong
// to the same relu.
bool FuseGradient(Graph& graph, int id) {
  const OpDesc& pool = graph.op(id).desc;
  const std::string& between = Only(pool.Output("X@GRAD"));
  if (!graph.IsInternal(between)) return false;
  const auto readers = graph.Readers(between);
  if (readers.size() != 1) return false;
  const OpDesc& relu = graph.op(readers[0]).desc;
  if (relu.type != "relu_grad" || Only(relu.Input("Out@GRAD")) != between ||
      Only(relu.Input("Out")) != Only(pool.Input("X"))) {
    return false;
  }
  OpDesc fused = pool;
  fused.type = "relu_pool2d_grad";
  fused.outputs = {{"X@GRAD", relu.Output("X@GRAD")}};
  fused.location = relu.location;
  fused.hint.clear();  // the graph keeps it
  return graph.Replace({id, readers[0]}, fused);
}

// Whether an op that reads relu's output `out` may read its input instead.
bool TakesInputOfRelu(const OpDesc& op, const std::string& out) {
  const auto reads = [&](const auto& input) {
    return input.first != "X" &&
           std::find(input.second.begin(), input.second.end(), out) !=
               input.second.end();
  };
  return op.type == "relu_pool2d_grad" &&
         std::none_of(op.inputs.begin(), op.inputs.end(), reads);
}

void SetX(const ArgVars& x, OpDesc* op) {
  for (auto& [argument, vars] : op->inputs) {
    if (argument == "X") vars = x;
  }
}

// Fuses a relu with a pool2d if its only other readers are gradients that may
// read relu's input instead.
bool FuseForward(Graph& graph, int id) {
  const OpDesc& relu = graph.op(id).desc;
  const ArgVars x = relu.Input("X");
  const std::string out = Only(relu.Output("Out"));
  // The gradients require that relu's input is not overwritten.
  if (!graph.IsInternal(out) || graph.Writer(Only(x)) < 0) return false;
  const auto readers = graph.Readers(out);
  int pool = -1;
  for (const int reader : readers) {
    const OpDesc& op = graph.op(reader).desc;
    if (op.type == "pool2d" && pool < 0) {
      pool = reader;
    } else if (!TakesInputOfRelu(op, out)) {
      return false;
    }
  }
  if (pool < 0) return false;
  OpDesc fused = graph.op(pool).desc;
  fused.type = "relu_pool2d";
  fused.hint.clear();
  SetX(x, &fused);
  if (!graph.Replace({id, pool}, fused)) return false;
  for (const int reader : readers) {
    if (reader == pool) continue;
    OpDesc grad = graph.op(reader).desc;
    SetX(x, &grad);
    graph.Rewrite(reader, grad);
  }
  return true;
}

int FuseReluPool2d(Graph& graph) {
  int changes = 0;
  // Gradients come first, as they determine the readers of the relu.
  for (const bool forward : {false, true}) {
    const std::vector<int> order = graph.order();
    for (const int id : order) {
      const std::string& type = graph.op(id).desc.type;
      if (forward ? type == "relu" && FuseForward(graph, id)
                  : type == "pool2d_grad" && FuseGradient(graph, id)) {
        ++changes;
      }
    }
  }
  return changes;
}

}  // namespace

REGISTER_PASS(relu_pool2d, 10, FuseReluPool2d);

}  // namespace sluice
