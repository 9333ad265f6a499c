#include "sluice/operators/fusion/fusion.h"

#include <algorithm>

#include "sluice/framework/op/registry.h"
#include "sluice/operators/registration.h"

namespace sluice {

Fusion::Fusion(const OpDesc& first, int id) : op(first), ids{id} {
  const auto& schema = Registry::Global().Schema(first.type);
  output = schema.outputs().front().name;
  op.type = schema.fused_type();
  op.hint.clear();  // the graph keeps it
}

void Fusion::TakeIn(int id, const OpDesc& taken, const char* from) {
  ids.push_back(id);
  for (auto& [argument, vars] : op.outputs) {
    if (argument == output) vars = taken.Output(from);
  }
  op.location = taken.location;
}

bool CanRunLast(const Graph& graph, const Fusion& fusion) {
  const int first = fusion.ids.front(), last = fusion.ids.back();
  for (const auto& [argument, vars] : fusion.op.outputs) {
    if (argument == fusion.output) continue;
    for (const std::string& var : vars) {
      const auto readers = graph.Readers(var);
      const bool seen =
          std::any_of(readers.begin(), readers.end(), [&](int reader) {
            return graph.Precedes(first, reader) &&
                   graph.Precedes(reader, last);
          });
      if (seen) return false;
    }
  }
  return true;
}

namespace {

template <typename T>
const T& Attr(const OpDesc& op, const char* name) {
  return std::get<T>(op.attributes.find(name)->second);
}

// Returns the dimension of the output that a bias is indexed by; -1 for none.
int BiasAxis(const Graph& graph, const Fusion& fusion) {
  const int rank = graph.dims(fusion.out()).rank();
  if (fusion.op.attributes.count("data_format") > 0) {
    return Attr<std::string>(fusion.op, "data_format") == "NCHW" ? 1 : 3;
  }
  // If Y is a vector, the product has no dimension for its single column.
  const bool columns = graph.dims(Only(fusion.op.Input("Y"))).rank() > 1;
  return columns && rank > 0 ? rank - 1 : -1;
}

// Returns the variable that elementwise_add or bias_add adds to `out` along
// `axis`, or nullptr if it adds something else.
const std::string* AddedAlong(const Graph& graph,
                              const OpDesc& op,
                              const std::string& out,
                              int axis) {
  const int rank = graph.dims(out).rank();
  const bool first = Only(op.Input("X")) == out;
  const std::string* bias = nullptr;
  int stands_at = rank - 1;
  if (op.type == "bias_add" && first) {
    bias = &Only(op.Input("Bias"));
    if (Attr<std::string>(op, "data_format") == "NCHW") stands_at = 1;
  } else if (op.type == "elementwise_add") {
    const auto given = Attr<int64_t>(op, "axis");
    bias = &Only(op.Input(first ? "Y" : "X"));
    if (first && given >= 0) stands_at = static_cast<int>(given);
    if (!first && given > 0) return nullptr;
  }
  if (bias == nullptr || *bias == out || stands_at != axis) return nullptr;
  const DDim& dims = graph.dims(*bias);
  const bool fits = dims.rank() == 1 && dims[0] == graph.dims(out)[axis];
  return fits ? bias : nullptr;
}

}  // namespace

void TakeInBias(const Graph& graph, Fusion* fusion) {
  if (!fusion->op.Input("Bias").empty()) return;
  const auto reader = graph.OnlyReader(fusion->out());
  const int axis = BiasAxis(graph, *fusion);
  if (!reader || axis < 0) return;
  const OpDesc& add = graph.op(*reader).desc;
  if (add.type != "elementwise_add" && add.type != "bias_add") return;
  const std::string* bias = AddedAlong(graph, add, fusion->out(), axis);
  if (bias == nullptr) return;
  std::erase_if(fusion->op.inputs,
                [](const auto& input) { return input.first == "Bias"; });
  fusion->op.inputs.push_back({"Bias", {*bias}});
  fusion->TakeIn(*reader, add, "Out");
}

}  // namespace sluice
