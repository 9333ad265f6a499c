#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "sluice/framework/algorithms/two_labels.h"
#include "sluice/framework/plan/graph.h"
#include "sluice/operators/registration.h"

// Decides for the whole graph which images have their channels last. Each op
// that supports both formats has a predicted time in each, and an image costs a
// transpose if the op that writes it and an op that reads it differ. The
// cheapest choice is made (framework/algorithms/two_labels.h).
namespace sluice {
namespace {

std::vector<std::string> Images(const Graph& graph, const OpFacts& op) {
  std::vector<std::string> images;
  for (const auto* arguments : {&op.desc.inputs, &op.desc.outputs}) {
    for (const auto& [argument, vars] : *arguments) {
      for (const std::string& var : vars) {
        if (op.schema->IsImage(argument, graph.dims(var))) {
          images.push_back(var);
        }
      }
    }
  }
  return images;
}

// Whether an element-wise op combines an image with one number per channel,
// such as a bias.
bool HasNumberPerChannel(const OpFacts& op) {
  if (!op.schema->elementwise() || op.inputs.size() != 2) return false;
  if (op.inputs[0].rank() != 4 || op.inputs[1].rank() != 1) return false;
  const auto attribute = op.desc.attributes.find("axis");
  if (attribute == op.desc.attributes.end()) return false;
  const auto* axis = std::get_if<int64_t>(&attribute->second);
  return axis != nullptr && *axis == 1;
}

// Whether an op can run with channels last.
bool CanBeNHWC(const Graph& graph, const OpFacts& op) {
  const auto images = Images(graph, op);
  if (images.empty()) return false;
  if (LayoutOf(op.desc) == Layout::kNCHW) return true;
  if (!op.schema->dim_attributes().empty()) {
    return std::all_of(op.inputs.begin(), op.inputs.end(),
                       [](const DDim& dims) { return dims.rank() == 4; });
  }
  if (HasNumberPerChannel(op)) return true;
  // A broadcast image is transposed like the others. A tensor of one element is
  // equal in both formats.
  const bool makes_image = op.outputs[0].rank() == 4;
  const auto turns = [](const DDim& dims) {
    return dims.rank() == 4 || dims.numel() == 1;
  };
  return op.schema->elementwise() && makes_image &&
         std::all_of(op.inputs.begin(), op.inputs.end(), turns);
}

// Whether both formats have the same order: there is one channel or one pixel.
bool SameInBoth(const DDim& nchw) {
  return nchw[1] == 1 || nchw[2] * nchw[3] == 1;
}

DDim ChannelsLast(const DDim& nchw) {
  return {nchw[0], nchw[2], nchw[3], nchw[1]};
}

// Converts an attribute about the dims of images to channels last: a dim, or a
// list with an entry for each dim.
template <typename T>
void PermuteDims(T* /*value*/) {}
void PermuteDims(int64_t* dim) {
  constexpr int64_t kPlaces[] = {0, 3, 1, 2};
  *dim = kPlaces[*dim < 0 ? *dim + 4 : *dim];
}
template <typename T>
void PermuteDims(std::vector<T>* entries) {
  if (entries->size() % 4 != 0) return;
  for (auto dims = entries->begin(); dims != entries->end(); dims += 4) {
    std::rotate(dims + 1, dims + 2, dims + 4);
  }
}

// Converts the attributes of `op`, which `facts` describe.
void SetNHWC(const OpFacts& facts, OpDesc* op) {
  if (HasNumberPerChannel(facts)) op->attributes["axis"] = int64_t{3};
  const auto format = op->attributes.find("data_format");
  if (format != op->attributes.end()) format->second = std::string("NHWC");
  for (const std::string& name : facts.schema->dim_attributes()) {
    const auto attribute = op->attributes.find(name);
    if (attribute == op->attributes.end()) continue;
    std::visit([](auto& value) { PermuteDims(&value); }, attribute->second);
  }
}

// Returns an image's transpose, or a reshape if the elements' order is equal.
OpDesc Move(const DDim& nchw,
            const DDim& to,
            const Ints& axes,
            const std::string& from_var,
            const std::string& to_var) {
  OpDesc op;
  op.inputs = {{"X", {from_var}}};
  op.outputs = {{"Out", {to_var}}};
  if (SameInBoth(nchw)) {
    op.type = "reshape";  // an alias of the same memory
    Ints shape(to.begin(), to.end());
    shape[0] = 0;  // the batch as it is, so that plans serve other batches
    op.attributes["shape"] = shape;
  } else {
    op.type = "transpose";
    op.attributes["axis"] = axes;
  }
  return op;
}

OpDesc MoveToChannelsLast(const DDim& nchw,
                          const std::string& from_var,
                          const std::string& to_var) {
  return Move(nchw, ChannelsLast(nchw), {0, 2, 3, 1}, from_var, to_var);
}

// Returns the facts about an op with its images converted to channels last.
OpFacts ToNHWC(OpFacts op) {
  SetNHWC(op, &op.desc);
  const auto turn = [&schema = *op.schema](const std::vector<ArgDef>& defs,
                                           auto vars_of,
                                           std::vector<DDim>* dims) {
    size_t flat = 0;
    for (const ArgDef& def : defs) {
      const size_t count = vars_of(def.name).size();
      for (size_t i = 0; i < count; ++i, ++flat) {
        DDim& shape = (*dims)[flat];
        if (schema.IsImage(def.name, shape)) shape = ChannelsLast(shape);
      }
    }
  };
  const OpDesc desc = op.desc;
  turn(
      op.schema->inputs(),
      [&](auto& name) -> auto& { return desc.Input(name); }, &op.inputs);
  turn(
      op.schema->outputs(),
      [&](auto& name) -> auto& { return desc.Output(name); }, &op.outputs);
  return op;
}

// Converts ops, in the order of the graph, to channels last.
class Chain {
 public:
  Chain(Graph& graph, const std::vector<int>& ids) : graph_(graph), ids_(ids) {
    const std::set<int> members(ids.begin(), ids.end());
    for (const int id : ids) {
      for (const std::string& var : Images(graph, graph.op(id))) {
        const bool made = members.count(graph.Writer(var)) > 0;
        if (!made) {
          entering_.insert(var);
        } else if (!graph.IsInternal(var)) {
          leaving_.insert(var);
        } else {
          inside_.insert(var);
        }
      }
    }
    for (const int id : graph.order()) {
      if (members.count(id) == 0) NoteOutsider(graph.op(id).desc);
    }
  }

  void Convert() {
    for (const int id : ids_) {
      ConvertOp(id);
    }
  }

 private:
  // An op outside needs NCHW images even if it reads only their shapes.
  void NoteOutsider(const OpDesc& op) {
    for (const auto& [argument, vars] : op.inputs) {
      for (const std::string& var : vars) {
        if (inside_.erase(var) > 0) leaving_.insert(var);
      }
    }
  }

  void ConvertOp(int id) {
    OpDesc op = graph_.op(id).desc;
    const OpSchema& schema = *graph_.op(id).schema;
    SetNHWC(graph_.op(id), &op);
    for (auto& [argument, vars] : op.inputs) {
      for (std::string& var : vars) {
        if (!schema.IsImage(argument, graph_.dims(var))) continue;
        if (entering_.count(var) > 0 && converted_.count(var) == 0) {
          Enter(id, var);
        }
        if (const auto found = converted_.find(var);
            found != converted_.end()) {
          var = found->second;
        }
      }
    }
    std::vector<std::pair<std::string, DDim>> left;
    for (auto& [argument, vars] : op.outputs) {
      for (std::string& var : vars) {
        if (leaving_.count(var) == 0) continue;
        left.emplace_back(var, graph_.dims(var));
        var = converted_[var] = graph_.NewName(var);
      }
    }
    graph_.Rewrite(id, op);
    for (const auto& [var, dims] : left) {
      Leave(id, var, dims);
    }
  }

  // Inserts before op `id` the conversion of an image to channels last.
  void Enter(int id, const std::string& var) {
    converted_[var] = graph_.NewName(var);
    graph_.InsertBefore(
        id, MoveToChannelsLast(graph_.dims(var), var, converted_[var]));
  }
  // Inserts after op `id` the conversion of an image back to NCHW.
  void Leave(int id, const std::string& var, const DDim& dims) {
    graph_.InsertAfter(id,
                       Move(dims, dims, {0, 3, 1, 2}, converted_[var], var));
  }

  Graph& graph_;
  std::vector<int> ids_;
  // Images written outside; written inside and read outside; used inside.
  std::set<std::string> entering_, leaving_, inside_;
  std::map<std::string, std::string> converted_;
};

constexpr double kNever = std::numeric_limits<double>::infinity();

bool Fits(const KernelHint& hint, const Candidate& candidate, Layout layout) {
  return HintFits(hint, *candidate.kernel, candidate.place, layout);
}

// The problem of which ops to convert: each op that can be converted is a node,
// and each image is a group of the ops that write or read it. Label 1 is NHWC.
class FormatProblem {
 public:
  explicit FormatProblem(Graph& graph) : graph_(graph) {
    for (const int id : graph.order()) {
      if (CanBeNHWC(graph, graph.op(id)) && graph.MayChange(id)) AddOp(id);
    }
    for (const int id : graph.order()) {
      if (costs_.count(id) == 0) NoteOutsider(graph.op(id).desc);
    }
  }

  // Returns the ops to run with channels last, in the order of the graph.
  std::vector<int> Solve() {
    TwoLabels problem;
    const int fixed = problem.AddNode(0, kNever);
    std::map<int, int> nodes;
    for (const auto& [id, costs] : costs_) {
      nodes[id] = problem.AddNode(costs.first, costs.second);
    }
    for (const auto& [var, image] : images_) {
      std::vector<int> group;
      group.reserve(image.ops.size() + 1);
      for (const int id : image.ops) {
        group.push_back(nodes.at(id));
      }
      if (image.is_nchw) group.push_back(fixed);
      problem.AddGroup(std::move(group), SecondsToMove(var));
    }
    const std::vector<uint8_t> labels = problem.Solve();
    std::vector<int> nhwc;
    for (const int id : graph_.order()) {
      const auto node = nodes.find(id);
      if (node != nodes.end() && labels[node->second] == 1) {
        nhwc.push_back(id);
      }
    }
    return nhwc;
  }

 private:
  struct Image {
    std::vector<int> ops;  // that write or read it and may be converted
    bool is_nchw = false;  // others write or read it, too
  };

  void AddOp(int id) {
    const PreparedOp& op = graph_.op(id);
    auto& costs = costs_[id] = SecondsOf(op);
    for (const auto& [argument, vars] : op.desc.inputs) {
      for (const std::string& var : vars) {
        if (!op.schema->IsImage(argument, graph_.dims(var))) continue;
        ImageOf(var).ops.push_back(id);
        // One transposed image would not do for all that it becomes.
        if (Changes(var) && std::isfinite(costs.first)) costs.second = kNever;
      }
    }
    for (const auto& [argument, vars] : op.desc.outputs) {
      for (const std::string& var : vars) {
        if (op.schema->IsImage(argument, graph_.dims(var))) {
          ImageOf(var).ops.push_back(id);
        }
      }
    }
  }

  Image& ImageOf(const std::string& var) {
    const auto [position, added] = images_.try_emplace(var);
    Image& image = position->second;
    if (!added) return image;
    const int writer = graph_.Writer(var);
    image.is_nchw = Changes(var) || writer < 0 || costs_.count(writer) == 0 ||
                    !graph_.IsInternal(var);
    return image;
  }

  // Whether the variable changes: then one transposed image is not enough.
  bool Changes(const std::string& var) const {
    return (graph_.Writer(var) < 0 || graph_.IsPersistable(var)) &&
           graph_.LastWriter(var) >= 0;
  }

  // An op that is not a node needs its images, or their shapes, in NCHW.
  void NoteOutsider(const OpDesc& op) {
    for (const auto& [argument, vars] : op.inputs) {
      for (const std::string& var : vars) {
        const auto image = images_.find(var);
        if (image != images_.end()) image->second.is_nchw = true;
      }
    }
  }

  double SecondsToMove(const std::string& var) {
    const DDim& nchw = graph_.dims(var);
    if (SameInBoth(nchw)) return 0;
    const auto known = seconds_to_move_.find(nchw.numel());
    if (known != seconds_to_move_.end()) return known->second;
    const auto facts = graph_.FactsOf(MoveToChannelsLast(nchw, var, var));
    const Candidate* best = graph_.Predict(facts);
    double& seconds = seconds_to_move_[nchw.numel()];
    seconds = kNever;
    // The saving must exceed the errors of the predictions, so that the time of
    // a transpose is multiplied by 1.5.
    if (best != nullptr) seconds = 1.5 * best->seconds;
    return seconds;
  }

  // Returns the op's times in NCHW and in NHWC. If only one of them satisfies a
  // hint, also a pending one, the hint decides.
  std::pair<double, double> SecondsOf(OpFacts op) {
    op.hints = op.all_hints;
    const Candidate* nchw = graph_.Predict(op);
    const Candidate* nhwc = graph_.Predict(ToNHWC(op));
    if (nchw == nullptr && nhwc == nullptr) {
      // The hints may be about an op that only a later pass creates.
      std::erase_if(op.hints, [&](auto* hint) {
        return hint->Wants() && !NamesKernelOf(*hint, op.desc.type, op.dtype);
      });
      nchw = graph_.Predict(op);
      nhwc = graph_.Predict(ToNHWC(op));
    }
    if (nhwc == nullptr) return {0, kNever};
    if (nchw == nullptr) return {kNever, 0};
    for (const KernelHint* hint : op.hints) {
      if (!hint->Wants()) continue;
      const bool fits = Fits(*hint, *nchw, Layout::kNCHW);
      if (fits == Fits(*hint, *nhwc, Layout::kNHWC)) continue;
      return fits ? std::pair(0.0, kNever) : std::pair(kNever, 0.0);
    }
    PredictedTime nchw_time, nhwc_time;
    nchw_time.Add(*nchw);
    nhwc_time.Add(*nhwc);
    return ComparableSeconds(nchw_time, nhwc_time);
  }

  Graph& graph_;
  std::map<int, std::pair<double, double>> costs_;  // in NCHW and NHWC, by op
  std::map<std::string, Image> images_;
  std::map<int64_t, double> seconds_to_move_;  // by numel
};

int AssignLayouts(Graph& graph) {
  if (graph.place().kind != PlaceKind::kCPU) return 0;
  const std::vector<int> ids = FormatProblem(graph).Solve();
  if (!ids.empty()) Chain(graph, ids).Convert();
  return static_cast<int>(ids.size());
}

}  // namespace

// Runs after the fusions: the times of the fused ops count.
REGISTER_PASS(channels_last, 25, AssignLayouts);

}  // namespace sluice
