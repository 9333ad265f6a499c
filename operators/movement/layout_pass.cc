#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/op/op_registry.h"
#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/plan/assignment/assignment.h"
#include "sluice/framework/plan/graph.h"

// Which images have their channels last, decided for the whole graph: each op
// that takes both formats has a predicted time in each, and each image costs a
// transpose where an op that gives it and one that reads it differ. The
// cheapest assignment wins (framework/plan/assignment/assignment.h).
namespace sluice::operators {
namespace {

using framework::ArgDef;
using framework::ArgVars;
using framework::AssignmentProblem;
using framework::Candidate;
using framework::DDim;
using framework::Graph;
using framework::KernelHint;
using framework::OpDesc;
using framework::OpFacts;
using Ints = std::vector<int64_t>;

// Whether an argument of these dims is an image. Filters are the same in both
// formats.
bool IsImage(const std::string& argument, const DDim& dims) {
  return dims.rank() == 4 && argument != "Filter" && argument != "Filter@GRAD";
}

bool SaysNCHW(const OpDesc& op) {
  const auto format = op.attributes.find("data_format");
  return format != op.attributes.end() &&
         std::get<std::string>(format->second) == "NCHW";
}

std::vector<std::string> Images(const Graph& graph, const OpDesc& op) {
  std::vector<std::string> images;
  for (const auto* arguments : {&op.inputs, &op.outputs}) {
    for (const auto& [argument, vars] : *arguments) {
      for (const std::string& var : vars) {
        if (IsImage(argument, graph.dims(var))) images.push_back(var);
      }
    }
  }
  return images;
}

// Whether an op can do its work with the channels last.
bool CanTurn(const Graph& graph, const OpFacts& op) {
  const auto images = Images(graph, op.desc);
  if (images.empty()) return false;
  if (SaysNCHW(op.desc)) return true;
  if (!op.schema->dim_attributes().empty()) {
    return std::all_of(op.inputs.begin(), op.inputs.end(),
                       [](const DDim& dims) { return dims.rank() == 4; });
  }
  // A broadcast image is transposed like the others; a tensor of one element is
  // the same in both layouts.
  const bool makes_image = op.outputs[0].rank() == 4;
  const auto turns = [](const DDim& dims) {
    return dims.rank() == 4 || dims.numel() == 1;
  };
  return op.schema->elementwise() && makes_image &&
         std::all_of(op.inputs.begin(), op.inputs.end(), turns);
}

// One channel or one pixel: both formats are the same.
bool SameInBoth(const DDim& nchw) {
  return nchw[1] == 1 || nchw[2] * nchw[3] == 1;
}

DDim ChannelsLast(const DDim& nchw) {
  return {nchw[0], nchw[2], nchw[3], nchw[1]};
}

// What an attribute says about the dims of images: which one, or a list with an
// entry for each.
template <typename T>
void TurnDims(T* /*value*/) {}
void TurnDims(int64_t* dim) {
  constexpr int64_t kPlaces[] = {0, 3, 1, 2};
  *dim = kPlaces[*dim < 0 ? *dim + 4 : *dim];
}
template <typename T>
void TurnDims(std::vector<T>* entries) {
  if (entries->size() % 4 != 0) return;
  for (auto dims = entries->begin(); dims != entries->end(); dims += 4) {
    std::rotate(dims + 1, dims + 2, dims + 4);
  }
}

void TurnFormat(const framework::OpSchema& schema, OpDesc* op) {
  const auto format = op->attributes.find("data_format");
  if (format != op->attributes.end()) format->second = std::string("NHWC");
  for (const std::string& name : schema.dim_attributes()) {
    const auto attribute = op->attributes.find(name);
    if (attribute == op->attributes.end()) continue;
    std::visit([](auto& value) { TurnDims(&value); }, attribute->second);
  }
}

// The transpose or, where both formats lie the same, the reshape of an image.
OpDesc Move(const DDim& nchw,
            const DDim& to,
            const Ints& axes,
            const std::string& from_var,
            const std::string& to_var) {
  OpDesc op;
  op.inputs = {{"X", {from_var}}};
  op.outputs = {{"Out", {to_var}}};
  if (SameInBoth(nchw)) {
    op.type = "reshape";  // looks at the same memory
    op.attributes["shape"] = Ints(to.begin(), to.end());
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

// What is known of an op with its images turned.
OpFacts Turned(OpFacts op) {
  TurnFormat(*op.schema, &op.desc);
  const auto turn = [](const std::vector<ArgDef>& defs, auto vars_of,
                       std::vector<DDim>* dims) {
    size_t flat = 0;
    for (const ArgDef& def : defs) {
      const size_t count = vars_of(def.name).size();
      for (size_t i = 0; i < count; ++i, ++flat) {
        DDim& shape = (*dims)[flat];
        if (IsImage(def.name, shape)) shape = ChannelsLast(shape);
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

// Ops in the order of the graph that run with the channels last.
class Chain {
 public:
  Chain(Graph& graph, const std::vector<int>& ids) : graph_(graph), ids_(ids) {
    const std::set<int> members(ids.begin(), ids.end());
    for (const int id : ids) {
      for (const std::string& var : Images(graph, graph.op(id).desc)) {
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

  void Turn() {
    for (const int id : ids_) {
      TurnOp(id);
    }
  }

 private:
  // Shapes are looked at as well as contents.
  void NoteOutsider(const OpDesc& op) {
    for (const auto& [argument, vars] : op.inputs) {
      for (const std::string& var : vars) {
        if (inside_.erase(var) > 0) leaving_.insert(var);
      }
    }
  }

  void TurnOp(int id) {
    OpDesc op = graph_.op(id).desc;
    TurnFormat(*graph_.op(id).schema, &op);
    for (auto& [argument, vars] : op.inputs) {
      for (std::string& var : vars) {
        if (!IsImage(argument, graph_.dims(var))) continue;
        if (entering_.count(var) > 0 && turned_.count(var) == 0) Enter(id, var);
        if (const auto turned = turned_.find(var); turned != turned_.end()) {
          var = turned->second;
        }
      }
    }
    std::vector<std::pair<std::string, DDim>> left;
    for (auto& [argument, vars] : op.outputs) {
      for (std::string& var : vars) {
        if (leaving_.count(var) == 0) continue;
        left.emplace_back(var, graph_.dims(var));
        var = turned_[var] = graph_.NewName(var);
      }
    }
    graph_.Rewrite(id, op);
    for (const auto& [var, dims] : left) {
      Leave(id, var, dims);
    }
  }

  // Makes the image with its channels last in front of op `id`.
  void Enter(int id, const std::string& var) {
    turned_[var] = graph_.NewName(var);
    graph_.InsertBefore(
        id, MoveToChannelsLast(graph_.dims(var), var, turned_[var]));
  }
  // Makes the image as it was behind op `id`.
  void Leave(int id, const std::string& var, const DDim& dims) {
    graph_.InsertBehind(id, Move(dims, dims, {0, 3, 1, 2}, turned_[var], var));
  }

  Graph& graph_;
  std::vector<int> ids_;
  // Images that others make, that others see as well, and the rest.
  std::set<std::string> entering_, leaving_, inside_;
  std::map<std::string, std::string> turned_;
};

constexpr double kNever = std::numeric_limits<double>::infinity();

bool Fits(const KernelHint& hint,
          const Candidate& candidate,
          framework::Layout layout) {
  return framework::HintFits(hint, *candidate.kernel, candidate.place, layout);
}

// The problem of which ops to turn. Each op that can be turned is a node with
// the choices NCHW and NHWC; each of their images is one with the choices NCHW,
// NHWC and both, of which an op's output has one for nothing.
class FormatProblem {
 public:
  explicit FormatProblem(Graph& graph) : graph_(graph) {
    for (const int id : graph.order()) {
      if (CanTurn(graph, graph.op(id)) && graph.MayChange(id)) AddOp(id);
    }
    for (const int id : graph.order()) {
      if (node_of_op_.count(id) == 0) NoteOutsider(graph.op(id).desc);
    }
  }

  // The ops that run with the channels last, in the order of the graph.
  std::vector<int> Solve() {
    std::vector<int> turned;
    if (node_of_op_.empty()) return turned;
    const auto solution = framework::Solve(problem_);
    for (const int id : graph_.order()) {
      const auto node = node_of_op_.find(id);
      if (node != node_of_op_.end() && solution.choices[node->second] == 1) {
        turned.push_back(id);
      }
    }
    return turned;
  }

 private:
  void AddOp(int id) {
    const framework::PreparedOp& op = graph_.op(id);
    const auto [as_it_is, turned] = SecondsOf(op);
    const int node = problem_.AddNode({as_it_is, turned});
    node_of_op_[id] = node;
    for (const auto& [argument, vars] : op.desc.inputs) {
      for (const std::string& var : vars) {
        if (!IsImage(argument, graph_.dims(var))) continue;
        problem_.AddEdge(node, NodeOfImage(var), {0, kNever, 0, kNever, 0, 0});
      }
    }
    for (const auto& [argument, vars] : op.desc.outputs) {
      for (const std::string& var : vars) {
        if (!IsImage(argument, graph_.dims(var))) continue;
        const double move = SecondsToMove(var);
        problem_.AddEdge(node, NodeOfImage(var),
                         {0, move, move, move, 0, move});
      }
    }
  }

  int NodeOfImage(const std::string& var) {
    const auto [position, added] = node_of_image_.try_emplace(var, -1);
    if (!added) return position->second;
    std::vector<double> costs = {0, 0, 0};
    const int writer = graph_.Writer(var);
    const bool changes = writer < 0 || graph_.IsPersistable(var);
    if (changes && graph_.LastWriter(var) >= 0) {
      // One transposed image would not do for all that it becomes.
      costs = {0, kNever, kNever};
    } else if (writer < 0 || node_of_op_.count(writer) == 0) {
      const double move = SecondsToMove(var);
      costs = {0, move, move};
    } else if (!graph_.IsInternal(var)) {
      costs = {0, kNever, 0};
    }
    return position->second = problem_.AddNode(std::move(costs));
  }

  // It reads images as they are written down, or looks at their shapes.
  void NoteOutsider(const OpDesc& op) {
    for (const auto& [argument, vars] : op.inputs) {
      for (const std::string& var : vars) {
        const auto node = node_of_image_.find(var);
        if (node != node_of_image_.end()) {
          problem_.nodes[node->second][1] = kNever;
        }
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
    // An op more has to save more than the estimates err: an image is moved
    // only where that is worth half as much again.
    if (best != nullptr) seconds = 1.5 * best->seconds;
    return seconds;
  }

  // What the op takes as it is, and turned. Hints decide where only one way
  // obeys them, also those that wait.
  std::pair<double, double> SecondsOf(OpFacts op) {
    op.hints = op.all_hints;
    const Candidate* as_it_is = graph_.Predict(op);
    const Candidate* turned = graph_.Predict(Turned(op));
    if (as_it_is == nullptr && turned == nullptr) {
      // They want what only a later pass makes of it.
      std::erase_if(op.hints, [&](auto* hint) {
        return hint->Wants() &&
               !framework::NamesKernelOf(*hint, op.desc.type, op.dtype);
      });
      as_it_is = graph_.Predict(op);
      turned = graph_.Predict(Turned(op));
    }
    if (turned == nullptr) return {0, kNever};
    if (as_it_is == nullptr) return {kNever, 0};
    for (const KernelHint* hint : op.hints) {
      if (!hint->Wants()) continue;
      const bool fits = Fits(*hint, *as_it_is, framework::Layout::kNCHW);
      if (fits == Fits(*hint, *turned, framework::Layout::kNHWC)) continue;
      return fits ? std::pair(0.0, kNever) : std::pair(kNever, 0.0);
    }
    framework::PredictedTime given, turned_time;
    given.Add(*as_it_is);
    turned_time.Add(*turned);
    return framework::ComparableSeconds(given, turned_time);
  }

  Graph& graph_;
  AssignmentProblem problem_;
  std::map<int, int> node_of_op_;
  std::map<std::string, int> node_of_image_;
  std::map<int64_t, double> seconds_to_move_;  // by elements
};

int AssignLayouts(Graph& graph) {
  if (graph.place().kind != platform::PlaceKind::kCPU) return 0;
  const std::vector<int> ids = FormatProblem(graph).Solve();
  if (!ids.empty()) Chain(graph, ids).Turn();
  return static_cast<int>(ids.size());
}

}  // namespace

// After the fusions, whose ops have the times that count.
REGISTER_PASS(channels_last, 25, AssignLayouts);

}  // namespace sluice::operators
