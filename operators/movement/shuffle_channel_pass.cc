#include <optional>

#include "sluice/framework/plan/graph.h"
#include "sluice/operators/registration.h"

// Networks with groups of channels (ShuffleNet) mix them by a reshape to
// [n, group, k, h, w], a transpose of the two dims and a reshape back. This
// pass makes them one op, which supports channels last like convolutions.
namespace sluice {
namespace {

// Returns the op of `type` that is the only reader of `var`.
std::optional<int> OnlyReaderOf(const Graph& graph,
                                const std::string& var,
                                const std::string& type) {
  const auto reader = graph.OnlyReader(var);
  const bool fits = reader && graph.op(*reader).desc.type == type;
  return fits ? reader : std::nullopt;
}

// Whether `split` is the shape of images of `dims` with channels in groups.
bool SplitsChannels(const DDim& dims, const DDim& split) {
  return dims.rank() == 4 && split.rank() == 5 && dims[0] == split[0] &&
         dims[1] == split[1] * split[2] && dims[2] == split[3] &&
         dims[3] == split[4] && dims[1] > 0;
}

bool ReplaceFrom(Graph& graph, int id) {
  const OpDesc first = graph.op(id).desc;
  if (first.type != "reshape") return false;
  const std::string x = first.Input("X")[0];
  const std::string split = first.Output("Out")[0];
  const DDim dims = graph.dims(x), split_dims = graph.dims(split);
  if (!SplitsChannels(dims, split_dims)) return false;
  const auto transpose = OnlyReaderOf(graph, split, "transpose");
  if (!transpose) return false;
  const OpDesc& turn = graph.op(*transpose).desc;
  if (std::get<Ints>(turn.attributes.at("axis")) != Ints{0, 2, 1, 3, 4}) {
    return false;
  }
  const auto join = OnlyReaderOf(graph, turn.Output("Out")[0], "reshape");
  if (!join) return false;
  const OpDesc last = graph.op(*join).desc;
  if (graph.dims(last.Output("Out")[0]) != dims) return false;
  OpDesc shuffle;
  shuffle.type = "shuffle_channel";
  shuffle.inputs = {{"X", {x}}};
  shuffle.outputs = {{"Out", last.Output("Out")}};
  shuffle.attributes = {{"group", split_dims[1]},
                        {"data_format", std::string("NCHW")}};
  shuffle.location = last.location;
  return graph.Replace({id, *transpose, *join}, shuffle);
}

int FindChannelShuffles(Graph& graph) {
  int changes = 0;
  const std::vector<int> order = graph.order();
  for (const int id : order) {
    if (ReplaceFrom(graph, id)) ++changes;
  }
  return changes;
}

}  // namespace

// Runs before layouts are assigned.
REGISTER_PASS(find_channel_shuffles, 5, FindChannelShuffles);

}  // namespace sluice
