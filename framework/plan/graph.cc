#include "sluice/framework/plan/graph.h"

#include <algorithm>

#include "sluice/framework/infer_shape_context.h"
#include "sluice/framework/op_check.h"
#include "sluice/platform/error.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::framework {

using platform::ErrorCode;
using platform::Format;

namespace {

void AddOpContext(const OpDesc& op, int op_index, platform::Error* error) {
  error->AddContext(Format("in op {} ({})", op_index, op.type));
  error->AddContext(DescribeLocation(op.location));
}

}  // namespace

Graph::Graph(const Program& program,
             const std::vector<FeedSpec>& feeds,
             const std::vector<std::string>& fetches,
             PlaceKey place,
             std::vector<KernelHint> hints,
             const std::vector<std::vector<KernelHint>>& op_hints)
    : program_(program), place_(place), ops_(program.block().ops.size()) {
  CheckFeeds(feeds);
  for (const std::string& name : fetches) {
    fetched_.insert(program_.FindVar(name).name);
  }
  const std::vector<int> needed = FindNeededOps();
  for (const FeedSpec& feed : feeds) {
    values_[feed.name] = {feed.dims, feed.dtype};
  }
  for (const int id : needed) {
    const OpDesc& desc = program_.block().ops[id];
    try {
      ops_[id] = Infer(desc);
    } catch (platform::Error& error) {
      AddOpContext(desc, id, &error);
      throw;
    }
    GraphOp& op = ops_[id];
    op.covers = {id};
    op.hints = op_hints[id];
    op.hints.insert(op.hints.end(), hints.begin(), hints.end());
    std::erase_if(op.hints, [&](const KernelHint& hint) {
      return !hint.Matches(desc, id);
    });
    Define(op);
    order_.Append(id);
    NoteUses(id);
  }
}

void Graph::CheckFeeds(const std::vector<FeedSpec>& feeds) const {
  std::set<std::string> names;
  for (const FeedSpec& feed : feeds) {
    const VarDesc& var = program_.FindVar(feed.name);
    SLUICE_ENFORCE(var.is_data, ErrorCode::kInvalidArgument, "feed.not_data",
                   "feed {}: only variables made with Program::Data can be "
                   "fed",
                   feed.name);
    SLUICE_ENFORCE(names.insert(feed.name).second, ErrorCode::kInvalidArgument,
                   "feed.twice", "feed {} is given twice", feed.name);
    SLUICE_ENFORCE(feed.dtype == var.dtype, ErrorCode::kInvalidArgument,
                   "feed.dtype", "feed {} must be {}, got {}", feed.name,
                   var.dtype, feed.dtype);
    bool fits = !var.dims.rank_known() || var.dims.rank() == feed.dims.rank();
    for (int axis = 0; fits && axis < var.dims.rank(); ++axis) {
      fits = var.dims[axis] < 0 || var.dims[axis] == feed.dims[axis];
    }
    SLUICE_ENFORCE(fits, ErrorCode::kInvalidArgument, "feed.shape",
                   "feed {} must have shape {}, got {}", feed.name, var.dims,
                   feed.dims);
  }
}

// Backwards from what is fetched and what persists.
std::vector<int> Graph::FindNeededOps() {
  const BlockDesc& block = program_.block();
  std::vector<int> order;
  std::set<std::string> needed = fetched_;
  for (size_t i = block.ops.size(); i-- > 0;) {
    const OpDesc& op = block.ops[i];
    bool runs = false;
    for (const auto& [argument, vars] : op.outputs) {
      for (const std::string& var : vars) {
        runs |= needed.erase(var) > 0 || IsPersistable(var);
      }
    }
    (runs ? order : not_needed_).push_back(static_cast<int>(i));
    if (!runs) continue;
    for (const auto& [argument, vars] : op.inputs) {
      needed.insert(vars.begin(), vars.end());
    }
  }
  std::reverse(order.begin(), order.end());
  std::reverse(not_needed_.begin(), not_needed_.end());
  return order;
}

GraphOp Graph::Infer(OpDesc desc) const {
  GraphOp op;
  op.schema = &Registry::Global().Schema(desc.type);
  CompleteOp(*op.schema, &desc);
  op.desc = std::move(desc);
  for (const std::string& name : FlatInputs(*op.schema, op.desc)) {
    op.inputs.push_back(dims(name));
    op.input_dtypes.push_back(dtype(name));
  }
  const BoundTypes types(*op.schema, op.desc, op.input_dtypes);
  op.dtype = types.KernelDType();
  const auto shapes =
      InferShapes(*op.schema, op.desc, op.inputs, op.input_dtypes);
  for (size_t i = 0; i < shapes.size(); ++i) {
    const ArgDef& def = op.schema->outputs()[i];
    for (const DDim& dims : shapes[i]) {
      SLUICE_ENFORCE(dims.known(), ErrorCode::kUnimplemented,
                     "plan.unknown_shape",
                     "{}: the shape of output {} is still {} with all feeds "
                     "known; shapes that depend on data are not supported yet",
                     op.desc.type, def.name, dims);
      // An overflow is found here, before anything is allocated.
      dims.numel();
      op.outputs.push_back(dims);
      op.output_dtypes.push_back(types.Of(def));
    }
  }
  return op;
}

void Graph::Define(const GraphOp& op) {
  const auto names = FlatOutputs(*op.schema, op.desc);
  for (size_t i = 0; i < names.size(); ++i) {
    values_[names[i]] = {op.outputs[i], op.output_dtypes[i]};
  }
}

void Graph::NoteUses(int id) {
  const GraphOp& op = ops_[id];
  for (const ArgDef& def : op.schema->inputs()) {
    if (def.traits.shape_only) continue;
    for (const std::string& var : op.desc.Input(def.name)) {
      uses_[var].readers.insert(id);
    }
  }
  for (const auto& [argument, vars] : op.desc.outputs) {
    for (const std::string& var : vars) {
      uses_[var].writers.insert(id);
    }
  }
}

void Graph::ForgetUses(int id) {
  const OpDesc& op = ops_[id].desc;
  for (const auto& [argument, vars] : op.inputs) {
    for (const std::string& var : vars) {
      uses_[var].readers.erase(id);
    }
  }
  for (const auto& [argument, vars] : op.outputs) {
    for (const std::string& var : vars) {
      uses_[var].writers.erase(id);
    }
  }
}

const Graph::Uses& Graph::UsesOf(const std::string& var) const {
  static const Uses kNone;
  const auto found = uses_.find(var);
  return found == uses_.end() ? kNone : found->second;
}

bool Graph::IsPersistable(const std::string& var) const {
  const VarDesc* desc = program_.block().FindVar(var);
  return desc != nullptr && desc->persistable;
}

bool Graph::IsConstant(const std::string& var) const {
  return IsPersistable(var) && UsesOf(var).writers.empty();
}

bool Graph::IsInternal(const std::string& var) const {
  return Writer(var) >= 0 && !IsFetched(var) && !IsPersistable(var);
}

int Graph::Writer(const std::string& var) const {
  const std::set<int>& writers = UsesOf(var).writers;
  return writers.size() == 1 ? *writers.begin() : -1;
}

std::vector<int> Graph::Readers(const std::string& var) const {
  const std::set<int>& readers = UsesOf(var).readers;
  std::vector<int> in_order(readers.begin(), readers.end());
  std::sort(in_order.begin(), in_order.end(),
            [&](int a, int b) { return order_.Precedes(a, b); });
  return in_order;
}

const DDim& Graph::dims(const std::string& var) const {
  const auto known = values_.find(var);
  if (known != values_.end()) return known->second.dims;
  const VarDesc& desc = program_.FindVar(var);
  // Programs grow op by op, so what no op has written yet is fed or persists.
  SLUICE_ENFORCE(desc.persistable, ErrorCode::kNotFound, "feed.missing",
                 "{} ({} {}) must be fed", var, desc.dtype, desc.dims);
  return desc.dims;
}

DType Graph::dtype(const std::string& var) const {
  const auto known = values_.find(var);
  return known != values_.end() ? known->second.dtype
                                : program_.FindVar(var).dtype;
}

std::vector<KernelHint> Graph::HintsFor(const std::vector<int>& ids) const {
  std::vector<KernelHint> hints;
  for (const int id : ids) {
    for (KernelHint hint : ops_[id].hints) {
      hint.selector.assign(1, '*');  // it has found its op already
      const auto same = [&](const KernelHint& other) {
        return ToString(other) == ToString(hint);
      };
      if (std::none_of(hints.begin(), hints.end(), same)) {
        hints.push_back(std::move(hint));
      }
    }
  }
  return hints;
}

ResolveRequest Graph::RequestFor(const GraphOp& op, int id) const {
  ResolveRequest request{.schema = *op.schema, .op = op.desc};
  request.op_index = id;
  request.expected_place = place_;
  request.dtype = op.dtype;
  request.inputs = op.inputs;
  request.input_dtypes = op.input_dtypes;
  request.outputs = op.outputs;
  request.output_dtypes = op.output_dtypes;
  request.hints = op.hints;
  for (const std::string& var : FlatInputs(*op.schema, op.desc)) {
    request.input_constant.push_back(IsConstant(var));
  }
  return request;
}

std::optional<Decision> Graph::Decide(const GraphOp& op, int id) const {
  ResolveRequest request = RequestFor(op, id);
  request.input_places.resize(op.inputs.size());
  request.input_moves.assign(op.inputs.size(), false);
  try {
    return ChooseKernel(std::move(request), Registry::Global(),
                        platform::NumThreads())
        .decision;
  } catch (const platform::Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    return std::nullopt;
  }
}

std::string Graph::LibraryOf(int id) const {
  const auto decision = Decide(ops_[id], id);
  return decision ? decision->kernel->key.library : "";
}

std::string Graph::VariantOf(const GraphOp& op, int id) const {
  ResolveRequest request = RequestFor(op, id);
  request.input_places.resize(op.inputs.size());
  request.input_moves.assign(op.inputs.size(), false);
  try {
    return Resolve(request, Registry::Global()).kernel->variant;
  } catch (const platform::Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    return "";
  }
}

bool Graph::HasKernel(const GraphOp& op, int id) const {
  const auto decision = Decide(op, id);
  // What is preferred would be lost as surely as what is required.
  return decision && decision->place == place_ &&
         std::all_of(
             op.hints.begin(), op.hints.end(), [&](const KernelHint& hint) {
               return hint.mode != HintMode::kPrefer ||
                      HintFits(hint, *decision->kernel, decision->place);
             });
}

// Whether an op that runs between one of `ids` and op `kept` writes what that
// one reads and `op` would read behind it.
bool Graph::ChangesBefore(const std::vector<int>& ids,
                          const OpDesc& op,
                          int kept) const {
  for (const auto& [argument, vars] : op.inputs) {
    for (const std::string& var : vars) {
      const Uses& uses = UsesOf(var);
      for (const int writer : uses.writers) {
        for (const int id : ids) {
          if (id != writer && uses.readers.count(id) > 0 &&
              order_.Precedes(id, writer) && order_.Precedes(writer, kept)) {
            return true;
          }
        }
      }
    }
  }
  return false;
}

bool Graph::Replace(const std::vector<int>& ids, OpDesc desc) {
  GraphOp op = Infer(std::move(desc));
  op.hints = HintsFor(ids);
  for (const int id : ids) {
    op.covers.insert(op.covers.end(), ops_[id].covers.begin(),
                     ops_[id].covers.end());
  }
  std::sort(op.covers.begin(), op.covers.end());
  const int kept = *std::max_element(ids.begin(), ids.end(), [&](int a, int b) {
    return order_.Precedes(a, b);
  });
  if (ChangesBefore(ids, op.desc, kept) || !HasKernel(op, kept)) return false;
  for (const int id : ids) {
    ForgetUses(id);
    if (id != kept) order_.Remove(id);
  }
  Define(op);
  ops_[kept] = std::move(op);
  NoteUses(kept);
  return true;
}

// An op that a pass puts in for the sake of `neighbour`; not in the order yet.
int Graph::Add(int neighbour, OpDesc desc) {
  GraphOp op = Infer(std::move(desc));
  op.hints = HintsFor({neighbour});
  std::erase_if(op.hints, [](const KernelHint& hint) {
    return hint.place.empty();  // the kernels are not those hinted at
  });
  Define(op);
  const int id = static_cast<int>(ops_.size());
  ops_.push_back(std::move(op));
  return id;
}

int Graph::InsertBefore(int before, OpDesc desc) {
  const int id = Add(before, std::move(desc));
  order_.InsertBefore(before, id);
  NoteUses(id);
  return id;
}

int Graph::InsertBehind(int id, OpDesc desc) {
  const int added = Add(id, std::move(desc));
  order_.InsertBehind(id, added);
  NoteUses(added);
  return added;
}

void Graph::Rewrite(int id, OpDesc desc) {
  GraphOp op = Infer(std::move(desc));
  op.hints = std::move(ops_[id].hints);
  op.covers = std::move(ops_[id].covers);
  Define(op);
  ForgetUses(id);
  ops_[id] = std::move(op);
  NoteUses(id);
}

std::string Graph::NewName(const std::string& stem) {
  return Format("{}@{}", stem, names_++);
}

}  // namespace sluice::framework
