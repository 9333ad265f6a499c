#include <algorithm>
#include <optional>

#include "sluice/framework/plan/graph.h"
#include "sluice/operators/movement/index_map.h"
#include "sluice/operators/registration.h"

// Where a tensor is split, or its rows are taken one by one, its gradient is a
// sum of as many tensors of its size, which are mostly zeros. If the slices are
// all of the tensor, this pass makes it one concat of their gradients.
namespace sluice {
namespace {

// The gradient of one slice: its op, and the range of the sliced axis.
struct SlicePart {
  int id = 0;
  int axis = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

// Returns the part whose gradient slice_grad `id` adds zeros to; nothing if the
// slice cuts several axes, none, or skips elements.
std::optional<SlicePart> PartOf(const Graph& graph, int id) {
  const OpDesc& op = graph.op(id).desc;
  const DDim& x = graph.dims(op.Input("X")[0]);
  const auto& axes = std::get<Ints>(op.attributes.at("axes"));
  const auto& steps = std::get<Ints>(op.attributes.at("steps"));
  const auto& starts = std::get<Ints>(op.attributes.at("starts"));
  const auto& ends = std::get<Ints>(op.attributes.at("ends"));
  std::optional<SlicePart> part;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int axis =
        axes.empty() ? static_cast<int>(i) : AxisOf(axes[i], x.rank());
    const AxisMap map =
        SliceAxis(x[axis], starts[i], ends[i], steps.empty() ? 1 : steps[i]);
    if (map.Identity()) continue;
    if (part || map.step != 1) return std::nullopt;
    part = {id, axis, map.first, map.first + map.out};
  }
  return part;
}

bool JoinSlices(Graph& graph, int id) {
  const OpDesc sum = graph.op(id).desc;
  std::vector<SlicePart> parts;
  for (const std::string& var : sum.Input("X")) {
    const int writer = graph.Writer(var);
    if (writer < 0 || graph.op(writer).desc.type != "slice_grad" ||
        graph.OnlyReader(var) != id) {
      return false;
    }
    const auto part = PartOf(graph, writer);
    if (!part) return false;
    parts.push_back(*part);
  }
  std::sort(
      parts.begin(), parts.end(),
      [](const SlicePart& a, const SlicePart& b) { return a.begin < b.begin; });
  OpDesc concat;
  concat.type = "concat";
  concat.inputs = {{"X", {}}};
  concat.outputs = sum.outputs;
  concat.attributes["axis"] = static_cast<int64_t>(parts[0].axis);
  concat.location = sum.location;
  std::vector<int> ids;
  int64_t end = 0;
  for (const SlicePart& part : parts) {
    if (part.axis != parts[0].axis || part.begin != end) return false;
    end = part.end;
    ids.push_back(part.id);
    concat.inputs[0].second.push_back(
        graph.op(part.id).desc.Input("Out@GRAD")[0]);
  }
  if (end != graph.dims(sum.Output("Out")[0])[parts[0].axis]) return false;
  std::sort(ids.begin(), ids.end(),
            [&](int a, int b) { return graph.Precedes(a, b); });
  ids.push_back(id);
  return graph.Replace(ids, concat);
}

int JoinSliceGradients(Graph& graph) {
  int changes = 0;
  const std::vector<int> order = graph.order();
  for (const int id : order) {
    if (graph.op(id).desc.type == "sum" && JoinSlices(graph, id)) ++changes;
  }
  return changes;
}

}  // namespace

// Runs before the layout passes, which would turn each slice.
REGISTER_PASS(join_slice_gradients, 5, JoinSliceGradients);

}  // namespace sluice
