#include <optional>

#include "sluice/framework/op_registry.h"
#include "sluice/framework/plan/graph.h"

// Takes what follows a product or a convolution into it: the bias, and the
// activation. oneDNN applies both while the output is still in registers.
namespace sluice::operators::onednn {
namespace {

using framework::DDim;
using framework::Graph;
using framework::OpDesc;

// The one op that reads `var`, when nobody else can see that value.
std::optional<int> OnlyReader(const Graph& graph, const std::string& var) {
  if (!graph.IsInternal(var)) return std::nullopt;
  const auto readers = graph.Readers(var);
  if (readers.size() != 1) return std::nullopt;
  return readers[0];
}

const std::string& Only(const framework::ArgVars& vars) {
  return vars.front();
}

// An elementwise_add that adds one number to each column of the product `out`.
bool AddsBias(const Graph& graph, const OpDesc& op, const std::string& out) {
  if (op.type != "elementwise_add" || Only(op.Input("X")) != out) return false;
  const std::string& bias = Only(op.Input("Y"));
  const DDim& dims = graph.dims(bias);
  const DDim& sum = graph.dims(out);
  const auto axis = std::get<int64_t>(op.attributes.find("axis")->second);
  return dims.rank() == 1 && sum.rank() == 2 && dims[0] == sum[1] &&
         (axis == -1 || axis == 1);
}

bool IsActivation(const OpDesc& op) {
  return op.type == "relu" || op.type == "sigmoid" || op.type == "tanh";
}

// The fused op for `first`, and the ops that it takes in.
struct Fusion {
  OpDesc op;
  std::vector<int> ids;

  void TakeIn(int id, const OpDesc& taken) {
    ids.push_back(id);
    op.outputs.front().second = taken.Output("Out");
    op.location = taken.location;
  }
};

Fusion Begin(const OpDesc& first, int id) {
  Fusion fusion{first, {id}};
  fusion.op.type = "fused_" + first.type;
  fusion.op.hint.clear();  // it stands in the graph's hints
  return fusion;
}

void TakeInBias(const Graph& graph, Fusion* fusion) {
  const std::string& out = Only(fusion->op.outputs.front().second);
  const auto reader = OnlyReader(graph, out);
  if (!reader) return;
  const OpDesc& add = graph.op(*reader).desc;
  if (!AddsBias(graph, add, out)) return;
  fusion->op.inputs.push_back({"Bias", add.Input("Y")});
  fusion->TakeIn(*reader, add);
}

void TakeInActivation(const Graph& graph, Fusion* fusion) {
  const auto reader =
      OnlyReader(graph, Only(fusion->op.outputs.front().second));
  if (!reader) return;
  const OpDesc& activation = graph.op(*reader).desc;
  if (!IsActivation(activation)) return;
  fusion->op.attributes["activation"] = activation.type;
  fusion->TakeIn(*reader, activation);
}

int FuseActivations(Graph& graph) {
  int changes = 0;
  const std::vector<int> order = graph.order();
  for (const int id : order) {
    const OpDesc first = graph.op(id).desc;
    if (first.type != "mul" && first.type != "conv2d") continue;
    // Where another kernel is the better choice, it stays so.
    if (graph.LibraryOf(id) != "ONEDNN") continue;
    Fusion fusion = Begin(first, id);
    if (first.type == "mul") TakeInBias(graph, &fusion);
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

}  // namespace sluice::operators::onednn
