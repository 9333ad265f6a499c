#include <algorithm>
#include <optional>

#include "sluice/operators/fusion/fusion.h"
#include "sluice/operators/movement/index_map.h"
#include "sluice/operators/registration.h"

// Folds a pad that surrounds images with zeros into the paddings of the
// convolutions that read them. In training, the gradient by the filter reads
// the smaller image, and the gradient by the image omits the border that
// pad_grad would remove.
namespace sluice {
namespace {

template <typename T>
const T& PadAttr(const OpDesc& op, const char* name) {
  return std::get<T>(op.attributes.at(name));
}

// Returns the zeros that a pad or pad_grad adds: [top, bottom, left, right].
// Returns nothing if it does more than surround images of `data_format` with
// zeros.
std::optional<Ints> ZerosAround(const OpDesc& pad,
                                const std::string& data_format) {
  constexpr int kRank = 4;
  if (PadAttr<std::string>(pad, "mode") != "constant" ||
      PadAttr<double>(pad, "value") != 0) {
    return std::nullopt;
  }
  const Ints pads = PadsOfAllDims(PadAttr<Ints>(pad, "pads"),
                                  PadAttr<Ints>(pad, "axes"), kRank);
  const int height = data_format == "NCHW" ? 2 : 1;
  Ints zeros;
  for (int axis = 0; axis < kRank; ++axis) {
    const int64_t before = pads[axis], after = pads[axis + kRank];
    if (axis == height || axis == height + 1) {
      if (before < 0 || after < 0) return std::nullopt;
      zeros.insert(zeros.end(), {before, after});
    } else if (before != 0 || after != 0) {
      return std::nullopt;
    }
  }
  return zeros;
}

// Returns convolution `conv`, or a gradient of one, with the zeros of `pad` in
// its paddings and the unpadded image as its input. Returns nothing if that
// would compute something else.
std::optional<OpDesc> WithPaddings(const OpDesc& conv, const OpDesc& pad) {
  const auto zeros =
      ZerosAround(pad, PadAttr<std::string>(conv, "data_format"));
  if (!zeros) return std::nullopt;
  OpDesc op = conv;
  op.hint.clear();  // the graph keeps it
  for (auto& [argument, vars] : op.inputs) {
    if (argument == "Input") vars = pad.Input("X");
  }
  auto& paddings = std::get<Ints>(op.attributes.at("paddings"));
  if (paddings.size() == 2) {
    paddings = {paddings[0], paddings[0], paddings[1], paddings[1]};
  }
  for (size_t i = 0; i < paddings.size(); ++i) {
    paddings[i] += (*zeros)[i];
  }
  if (paddings[0] == paddings[1] && paddings[2] == paddings[3]) {
    paddings = {paddings[0], paddings[2]};
  }
  return op;
}

// Whether `var` has the same value before and after op `id`.
bool IsSettled(const Graph& graph, const std::string& var, int id) {
  const int writer = graph.Writer(var);
  return writer < 0 ? graph.LastWriter(var) < 0 : graph.Precedes(writer, id);
}

// Returns `reader` with larger paddings if it is a convolution of the padded
// image, or the gradient of one by its filter.
std::optional<OpDesc> ReaderWithPaddings(const OpDesc& reader,
                                         const OpDesc& pad) {
  if (reader.type != "conv2d" && reader.type != "conv2d_grad_filter") {
    return std::nullopt;
  }
  const std::string& padded = Only(pad.Output("Out"));
  for (const auto& [argument, vars] : reader.inputs) {
    const bool reads =
        std::find(vars.begin(), vars.end(), padded) != vars.end();
    if (reads != (argument == "Input")) return std::nullopt;
  }
  return WithPaddings(reader, pad);
}

// Returns the number of convolutions that pad `id` was folded into. The pad is
// removed with its last reader.
int FoldForward(Graph& graph, int id) {
  const OpDesc pad = graph.op(id).desc;
  const std::string& padded = Only(pad.Output("Out"));
  if (!graph.IsInternal(padded) ||
      !IsSettled(graph, Only(pad.Input("X")), id)) {
    return 0;
  }
  const std::vector<int> readers = graph.Readers(padded);
  std::vector<OpDesc> replacements;
  for (const int reader : readers) {
    const auto op = ReaderWithPaddings(graph.op(reader).desc, pad);
    if (!op) return 0;
    replacements.push_back(*op);
  }
  int changes = 0;
  for (size_t i = 0; i < readers.size(); ++i) {
    std::vector<int> ids = {readers[i]};
    if (i + 1 == readers.size()) ids.push_back(id);
    if (!graph.Replace(ids, replacements[i])) break;
    ++changes;
  }
  return changes;
}

// Fuses a conv2d_grad_input and the pad_grad that is its only reader.
bool FoldBackward(Graph& graph, int id) {
  const OpDesc conv = graph.op(id).desc;
  const auto reader = graph.OnlyReader(Only(conv.Output("Input@GRAD")));
  if (!reader) return false;
  const OpDesc pad = graph.op(*reader).desc;
  if (pad.type != "pad_grad" || !IsSettled(graph, Only(pad.Input("X")), id)) {
    return false;
  }
  auto op = WithPaddings(conv, pad);
  if (!op) return false;
  op->outputs = {{"Input@GRAD", pad.Output("X@GRAD")}};
  op->location = pad.location;
  return graph.Replace({id, *reader}, *op);
}

int FoldPad(Graph& graph) {
  int changes = 0;
  const std::vector<int> order = graph.order();
  for (const int id : order) {
    const std::string& type = graph.op(id).desc.type;
    if (type == "pad") changes += FoldForward(graph, id);
    if (type == "conv2d_grad_input") changes += FoldBackward(graph, id) ? 1 : 0;
  }
  return changes;
}

}  // namespace

// Runs before the passes that fuse other ops into a convolution.
REGISTER_PASS(fold_pad, 5, FoldPad);

}  // namespace sluice
