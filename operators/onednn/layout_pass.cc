#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/op_check.h"
#include "sluice/framework/op_registry.h"
#include "sluice/framework/plan/graph.h"

// Chains of NCHW ops run with the channels last where kernels would otherwise
// bring their images there and back one by one. An image is transposed where it
// enters a chain and where it leaves it, and nowhere else.
namespace sluice::operators::onednn {
namespace {

using framework::ArgDef;
using framework::ArgVars;
using framework::DDim;
using framework::Graph;
using framework::OpFacts;
using framework::KernelHint;
using framework::OpDesc;
using Ints = std::vector<int64_t>;

// Computes each element by itself, wherever it lies.
bool ComputesElements(const std::string& type) {
  static const std::set<std::string> kTypes = {
      "abs",       "abs_grad", "assign", "elementwise_add", "elementwise_div",
      "exp",       "exp_grad", "log",    "elementwise_mul", "elementwise_sub",
      "log_grad",  "relu",     "scale",  "relu_grad",       "sigmoid_grad",
      "sigmoid",   "sqrt",     "square", "sqrt_grad",       "square_grad",
      "tanh_grad", "tanh",     "sum"};
  return kTypes.count(type) > 0;
}

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
  // A hint about layouts or variants speaks of the op as it stands.
  const auto particular = [](const KernelHint* hint) {
    return !hint->layout.empty() || !hint->variant.empty();
  };
  if (std::any_of(op.hints.begin(), op.hints.end(), particular)) return false;
  const auto images = Images(graph, op.desc);
  if (images.empty()) return false;
  if (SaysNCHW(op.desc)) return true;
  const auto alike = [&](const DDim& dims) { return dims == op.outputs[0]; };
  return ComputesElements(op.desc.type) &&
         std::all_of(op.inputs.begin(), op.inputs.end(), alike);
}

// One channel or one pixel: both formats are the same.
bool SameInBoth(const DDim& nchw) {
  return nchw[1] == 1 || nchw[2] * nchw[3] == 1;
}

int64_t ElementsToMove(const DDim& nchw) {
  return SameInBoth(nchw) ? 0 : nchw.numel();
}

DDim ChannelsLast(const DDim& nchw) {
  return {nchw[0], nchw[2], nchw[3], nchw[1]};
}

void TurnFormat(OpDesc* op) {
  const auto format = op->attributes.find("data_format");
  if (format != op->attributes.end()) format->second = std::string("NHWC");
}

// What the kernel that would be chosen for a convolution moves to another
// layout and back, by `op` as it stands or turned.
int64_t MovedByKernel(Graph& graph,
                      const OpFacts& op,
                      bool turn) {
  OpFacts asked = op;
  if (turn) TurnFormat(&asked.desc);
  int64_t elements = 0;
  const auto walk = [&](const std::vector<ArgDef>& defs, bool inputs,
                        std::vector<DDim>* dims) {
    size_t flat = 0;
    for (const ArgDef& def : defs) {
      const ArgVars& vars =
          inputs ? op.desc.Input(def.name) : op.desc.Output(def.name);
      for (size_t i = 0; i < vars.size(); ++i, ++flat) {
        DDim& shape = (*dims)[flat];
        if (!IsImage(def.name, shape)) continue;
        if (!def.traits.shape_only) elements += ElementsToMove(shape);
        if (turn) shape = ChannelsLast(shape);
      }
    }
  };
  walk(op.schema->inputs(), true, &asked.inputs);
  walk(op.schema->outputs(), false, &asked.outputs);
  const std::string variant = graph.VariantOf(asked);
  return variant == "channels_last" || variant == "blocked" ? elements : 0;
}

// Ops in the order of the graph that share images.
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
    std::map<std::string, int> writers;
    for (const int id : graph.order()) {
      const OpFacts& op = graph.op(id);
      if (members.count(id) == 0) NoteOutsider(op.desc);
      for (const std::string& var : FlatOutputs(*op.schema, op.desc)) {
        ++writers[var];
      }
    }
    for (const std::string& var : entering_) {
      changes_ |= writers[var] > (graph.IsPersistable(var) ? 0 : 1);
    }
  }
  // Whether something that enters gets new contents on the way, so that one
  // transposed image of it would not do.
  bool changes() const { return changes_; }

  // Elements that need not be moved any more when the chain is turned.
  int64_t Gain() const {
    int64_t gain = 0;
    for (const int id : ids_) {
      const OpFacts& op = graph_.op(id);
      if (op.desc.type.find("conv2d") == std::string::npos) continue;
      gain += MovedByKernel(graph_, op, false) -
              MovedByKernel(graph_, op, true);
    }
    for (const auto* border : {&entering_, &leaving_}) {
      for (const std::string& var : *border) {
        gain -= ElementsToMove(graph_.dims(var));
      }
    }
    return gain;
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
    TurnFormat(&op);
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
        id, Move(graph_.dims(var), ChannelsLast(graph_.dims(var)), {0, 2, 3, 1},
                 var, turned_[var]));
  }
  // Makes the image as it was behind op `id`.
  void Leave(int id, const std::string& var, const DDim& dims) {
    graph_.InsertBehind(id, Move(dims, dims, {0, 3, 1, 2}, turned_[var], var));
  }

  static OpDesc Move(const DDim& nchw,
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

  Graph& graph_;
  std::vector<int> ids_;
  // Images that others make, that others see as well, and the rest.
  std::set<std::string> entering_, leaving_, inside_;
  std::map<std::string, std::string> turned_;
  bool changes_ = false;
};

// The ops that can be turned, in sets that share images.
std::vector<std::vector<int>> FindChains(const Graph& graph) {
  std::vector<std::vector<int>> chains;
  std::map<std::string, size_t> chain_of;
  for (const int id : graph.order()) {
    const OpFacts& op = graph.op(id);
    if (!CanTurn(graph, op)) continue;
    const auto images = Images(graph, op.desc);
    std::set<size_t> joined;
    for (const std::string& var : images) {
      const auto known = chain_of.find(var);
      if (known != chain_of.end()) joined.insert(known->second);
    }
    const size_t chain = joined.empty() ? chains.size() : *joined.begin();
    if (joined.empty()) chains.emplace_back();
    for (const size_t other : joined) {
      if (other == chain) continue;
      chains[chain].insert(chains[chain].end(), chains[other].begin(),
                           chains[other].end());
      chains[other].clear();
      for (auto& [var, of] : chain_of) {
        if (of == other) of = chain;
      }
    }
    chains[chain].push_back(id);
    for (const std::string& var : images) {
      chain_of[var] = chain;
    }
  }
  return chains;
}

// Ids in the order in which they run.
std::vector<int> InOrder(const Graph& graph, const std::vector<int>& ids) {
  const std::set<int> wanted(ids.begin(), ids.end());
  std::vector<int> sorted;
  for (const int id : graph.order()) {
    if (wanted.count(id) > 0) sorted.push_back(id);
  }
  return sorted;
}

int PropagateChannelsLast(Graph& graph) {
  if (graph.place().kind != platform::PlaceKind::kCPU) return 0;
  int changes = 0;
  for (const std::vector<int>& ids : FindChains(graph)) {
    if (ids.size() < 2) continue;
    Chain chain(graph, InOrder(graph, ids));
    if (chain.changes() || chain.Gain() <= 0) continue;
    chain.Turn();
    changes += static_cast<int>(ids.size());
  }
  return changes;
}

}  // namespace

REGISTER_PASS(channels_last, 15, PropagateChannelsLast);

}  // namespace sluice::operators::onednn
