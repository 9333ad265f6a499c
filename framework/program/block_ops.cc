#include "sluice/framework/program/block_ops.h"

#include <algorithm>
#include <map>
#include <set>

#include "sluice/framework/op/op_check.h"
#include "sluice/framework/op/registry.h"
#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice {

namespace {

using Names = std::vector<std::string>;

// The attributes that refer to blocks.
constexpr const char* kThenBlock = "then_block";
constexpr const char* kElseBlock = "else_block";
constexpr const char* kLoopBlock = "block";

template <typename T>
const T& Attr(const OpDesc& op, std::string_view name) {
  return std::get<T>(op.attributes.find(name)->second);
}

int BlockAttr(const OpDesc& op, std::string_view name) {
  return static_cast<int>(Attr<int64_t>(op, name));
}

OpRole RoleOf(const OpDesc& op) {
  return Registry::Global().Schema(op.type).role();
}

bool IsHeld(const Program& program, int block) {
  const BlockDesc& around = program.blocks()[program.blocks()[block].parent];
  return std::any_of(around.ops.begin(), around.ops.end(), [&](auto& op) {
    const std::vector<int> held = BlocksOf(op);
    return std::find(held.begin(), held.end(), block) != held.end();
  });
}

void CheckBlock(const Program& program, const OpDesc& op, int block) {
  const auto& blocks = program.blocks();
  SLUICE_ENFORCE(block > 0 && block < static_cast<int>(blocks.size()) &&
                     blocks[block].parent == program.current_block(),
                 ErrorCode::kInvalidArgument, "block_op.block",
                 "{}: block {} is no block inside of block {}; make one with "
                 "BeginBlock and EndBlock, and then the op",
                 op.type, block, program.current_block());
  SLUICE_ENFORCE(!IsHeld(program, block), ErrorCode::kInvalidArgument,
                 "block_op.held", "{}: another op runs block {} already",
                 op.type, block);
}

// Returns a variable that ops of a block can read.
const VarDesc* FindFrom(const Program& program,
                        int block,
                        const std::string& name) {
  for (; block >= 0; block = program.blocks()[block].parent) {
    const VarDesc* var = program.blocks()[block].FindVar(name);
    if (var != nullptr) return var;
  }
  return nullptr;
}

const VarDesc& OutputOf(const Program& program,
                        const OpDesc& op,
                        int block,
                        const std::string& name) {
  const VarDesc* var = FindFrom(program, block, name);
  SLUICE_ENFORCE(var != nullptr, ErrorCode::kInvalidArgument, "block_op.output",
                 "{}: block {} has no variable {} to give", op.type, block,
                 Shown(name));
  return *var;
}

// Adds the outer variables that ops of `block` read, or that it returns.
void AddOuterVars(const Program& program,
                  int block,
                  const Names& outputs,
                  Names* outer) {
  const BlockDesc& desc = program.blocks()[block];
  const auto add = [&](const std::string& name) {
    if (desc.FindVar(name) != nullptr) return;
    if (std::find(outer->begin(), outer->end(), name) == outer->end()) {
      outer->push_back(name);
    }
  };
  for (const OpDesc& op : desc.ops) {
    for (const auto& [argument, vars] : op.inputs) {
      std::for_each(vars.begin(), vars.end(), add);
    }
  }
  std::for_each(outputs.begin(), outputs.end(), add);
}

// Keeps the sizes that are equal; the others become unknown.
DDim Common(const DDim& a, const DDim& b) {
  if (!a.rank_known() || !b.rank_known() || a.rank() != b.rank()) {
    return DDim::UnknownRank();
  }
  DDim common = a;
  for (int axis = 0; axis < a.rank(); ++axis) {
    if (a[axis] != b[axis]) common[axis] = kUnknownDim;
  }
  return common;
}

// `dims` with a new axis of size `size`.
DDim WithAxis(const OpDesc& op, const DDim& dims, int64_t axis, int64_t size) {
  if (!dims.rank_known()) return dims;
  SLUICE_ENFORCE(axis >= -dims.rank() - 1 && axis <= dims.rank(),
                 ErrorCode::kInvalidArgument, "loop.stacked_axis",
                 "{}: attribute stacked_axes has {}, but what an iteration "
                 "gives has shape {}; expected {} to {}",
                 op.type, axis, dims, -dims.rank() - 1, dims.rank());
  DDim stacked = dims;
  stacked.InsertDim(static_cast<int>(axis < 0 ? axis + dims.rank() + 1 : axis),
                    size);
  return stacked;
}

void RequireOneElement(const Program& program,
                       const OpDesc& op,
                       std::string_view input) {
  for (const std::string& name : op.Input(input)) {
    const DDim& dims = program.FindVar(name).dims;
    SLUICE_ENFORCE(!dims.known() || dims.numel() == 1,
                   ErrorCode::kInvalidArgument, "block_op.one_element",
                   "{}: input {} must have one element, {} has shape {}",
                   op.type, input, name, dims);
  }
}

// Checks that each data variable of a loop's block gets a value.
void CheckFedVars(const Program& program,
                  const OpDesc& op,
                  const LoopBlock& loop) {
  const BlockDesc& block = program.blocks()[loop.block];
  std::set<std::string> fed;
  const auto check = [&](const char* attribute, const std::string& name) {
    if (name.empty()) return;
    const VarDesc* var = block.FindVar(name);
    SLUICE_ENFORCE(var != nullptr && var->is_data && fed.insert(name).second,
                   ErrorCode::kInvalidArgument, "loop.data",
                   "{}: attribute {}: {} must be a data variable of block {}, "
                   "named once",
                   op.type, attribute, Shown(name), loop.block);
  };
  check("iteration", loop.iteration);
  check("condition_in", loop.condition_in);
  for (const std::string& name : loop.carried) {
    check("carried", name);
  }
  for (const std::string& name : loop.slices) {
    check("slices", name);
  }
  for (const VarDesc& var : block.vars()) {
    SLUICE_ENFORCE(
        !var.is_data || fed.count(var.name) > 0, ErrorCode::kInvalidArgument,
        "loop.unfed",
        "{}: data variable {} of block {} is not named by iteration, "
        "condition_in, carried or slices, so it would have no value",
        op.type, var.name, loop.block);
  }
}

void CheckCounts(const OpDesc& op, const LoopBlock& loop) {
  const auto same = [&](size_t got, size_t expected, const char* what,
                        const char* like) {
    SLUICE_ENFORCE(got == expected, ErrorCode::kInvalidArgument, "loop.count",
                   "{}: {} has {} elements, {} has {}; expected as many",
                   op.type, what, got, like, expected);
  };
  same(loop.carried.size(), op.Input("Carried").size(), "attribute carried",
       "input Carried");
  same(loop.carried_out.size(), loop.carried.size(), "attribute carried_out",
       "attribute carried");
  same(loop.slices.size(), op.Input("Sequences").size(), "attribute slices",
       "input Sequences");
  const auto same_or_none = [&](const std::vector<int64_t>& list,
                                size_t expected, const char* what,
                                const char* like) {
    if (!list.empty()) same(list.size(), expected, what, like);
  };
  same_or_none(loop.sequence_axes, loop.slices.size(),
               "attribute sequence_axes", "input Sequences");
  same_or_none(loop.sequence_reversed, loop.slices.size(),
               "attribute sequence_reversed", "input Sequences");
  same_or_none(loop.stacked_axes, loop.stacked.size(), "attribute stacked_axes",
               "attribute stacked");
  same_or_none(loop.stacked_reversed, loop.stacked.size(),
               "attribute stacked_reversed", "attribute stacked");
}

void CompleteIf(const Program& program, OpDesc* op) {
  const IfBlocks blocks = IfBlocksOf(*op);
  CheckBlock(program, *op, blocks.then_block);
  CheckBlock(program, *op, blocks.else_block);
  SLUICE_ENFORCE(blocks.then_block != blocks.else_block,
                 ErrorCode::kInvalidArgument, "if.same_block",
                 "{}: then_block and else_block are both {}; expected two",
                 op->type, blocks.then_block);
  for (const int block : {blocks.then_block, blocks.else_block}) {
    for (const VarDesc& var : program.blocks()[block].vars()) {
      SLUICE_ENFORCE(!var.is_data, ErrorCode::kInvalidArgument, "if.data",
                     "{}: block {} has data variable {}, which nothing feeds; "
                     "blocks read variables around them by name",
                     op->type, block, var.name);
    }
  }
  RequireOneElement(program, *op, "Cond");
  SLUICE_ENFORCE(
      blocks.then_outputs.size() == blocks.else_outputs.size(),
      ErrorCode::kInvalidArgument, "if.outputs",
      "{}: then_outputs names {} variables, else_outputs {}; expected as many",
      op->type, blocks.then_outputs.size(), blocks.else_outputs.size());
  Names outer;
  for (const auto& [block, names] :
       {std::pair(blocks.then_block, blocks.then_outputs),
        std::pair(blocks.else_block, blocks.else_outputs)}) {
    for (const std::string& name : names) {
      OutputOf(program, *op, block, name);
    }
    AddOuterVars(program, block, names, &outer);
  }
  if (!outer.empty()) op->inputs.emplace_back("X", std::move(outer));
}

void CompleteLoop(const Program& program, OpDesc* op) {
  const LoopBlock loop = LoopBlockOf(*op);
  CheckBlock(program, *op, loop.block);
  RequireOneElement(program, *op, "MaxTrips");
  RequireOneElement(program, *op, "Cond");
  CheckCounts(*op, loop);
  CheckFedVars(program, *op, loop);
  const bool filled_back =
      std::any_of(loop.stacked_reversed.begin(), loop.stacked_reversed.end(),
                  [](int64_t reversed) { return reversed != 0; });
  SLUICE_ENFORCE(loop.max_trips == 0 || !filled_back,
                 ErrorCode::kInvalidArgument, "loop.reversed_trips",
                 "{}: stacked_reversed needs the number of iterations before "
                 "the first one, and max_trips is only the most",
                 op->type);
  const bool ends = !op->Input("MaxTrips").empty() || !loop.slices.empty() ||
                    !loop.condition_out.empty();
  SLUICE_ENFORCE(ends, ErrorCode::kInvalidArgument, "loop.endless",
                 "{}: it would never end: give MaxTrips, Sequences or "
                 "condition_out",
                 op->type);
  Names names = loop.carried_out;
  names.insert(names.end(), loop.stacked.begin(), loop.stacked.end());
  if (!loop.condition_out.empty()) names.push_back(loop.condition_out);
  for (const std::string& name : names) {
    OutputOf(program, *op, loop.block, name);
  }
  Names outer;
  AddOuterVars(program, loop.block, names, &outer);
  if (!outer.empty()) op->inputs.emplace_back("X", std::move(outer));
}

std::vector<VarDesc> IfOutputs(const Program& program, const OpDesc& op) {
  const IfBlocks blocks = IfBlocksOf(op);
  std::vector<VarDesc> outputs;
  for (size_t i = 0; i < blocks.then_outputs.size(); ++i) {
    const VarDesc& a =
        OutputOf(program, op, blocks.then_block, blocks.then_outputs[i]);
    const VarDesc& b =
        OutputOf(program, op, blocks.else_block, blocks.else_outputs[i]);
    SLUICE_ENFORCE(a.dtype == b.dtype, ErrorCode::kInvalidArgument,
                   "if.output_dtype",
                   "{}: output {} is {} where the condition holds ({}) and {} "
                   "where it does not ({})",
                   op.type, i, a.dtype, a.name, b.dtype, b.name);
    VarDesc& output = outputs.emplace_back();
    output.dtype = a.dtype;
    output.dims = Common(a.dims, b.dims);
  }
  return outputs;
}

void RequireDType(const OpDesc& op,
                  const VarDesc& var,
                  DType expected,
                  const std::string& role) {
  SLUICE_ENFORCE(var.dtype == expected, ErrorCode::kInvalidArgument,
                 "loop.dtype", "{}: {} {} must be {}, got {}", op.type, role,
                 var.name, expected, var.dtype);
}

// Returns how many elements the sequences of a loop have; -1 if that is not
// known, or there are none.
int64_t CountElements(const Program& program,
                      const OpDesc& op,
                      const LoopBlock& loop) {
  const BlockDesc& block = program.blocks()[loop.block];
  int64_t trips = kUnknownDim;
  for (size_t i = 0; i < loop.slices.size(); ++i) {
    const VarDesc& sequence = program.FindVar(op.Input("Sequences")[i]);
    RequireDType(op, sequence, block.FindVar(loop.slices[i])->dtype,
                 "sequence");
    if (!sequence.dims.rank_known()) continue;
    const int rank = sequence.dims.rank();
    const int64_t axis = loop.sequence_axes.empty() ? 0 : loop.sequence_axes[i];
    SLUICE_ENFORCE(axis >= -rank && axis < rank, ErrorCode::kInvalidArgument,
                   "loop.sequence_axis",
                   "{}: sequence {} has shape {}, and so no dimension {} to be "
                   "taken apart along (attribute sequence_axes)",
                   op.type, sequence.name, sequence.dims, axis);
    const int64_t size =
        sequence.dims[static_cast<int>(axis < 0 ? axis + rank : axis)];
    SLUICE_ENFORCE(trips < 0 || size < 0 || trips == size,
                   ErrorCode::kInvalidArgument, "loop.sequence_length",
                   "{}: sequence {} has {} elements, another one {}; expected "
                   "as many",
                   op.type, sequence.name, size, trips);
    trips = std::max(trips, size);
  }
  return trips;
}

std::vector<VarDesc> LoopOutputs(const Program& program, const OpDesc& op) {
  const LoopBlock loop = LoopBlockOf(op);
  const BlockDesc& block = program.blocks()[loop.block];
  if (!loop.iteration.empty()) {
    RequireDType(op, *block.FindVar(loop.iteration), DType::kInt64,
                 "the number of the iteration");
  }
  if (!loop.condition_in.empty()) {
    RequireDType(op, *block.FindVar(loop.condition_in), DType::kBool,
                 "the condition");
  }
  if (!loop.condition_out.empty()) {
    RequireDType(op, OutputOf(program, op, loop.block, loop.condition_out),
                 DType::kBool, "the condition");
  }
  std::vector<VarDesc> outputs;
  for (size_t i = 0; i < loop.carried.size(); ++i) {
    const VarDesc& first = program.FindVar(op.Input("Carried")[i]);
    const VarDesc& next =
        OutputOf(program, op, loop.block, loop.carried_out[i]);
    const DType dtype = block.FindVar(loop.carried[i])->dtype;
    RequireDType(op, first, dtype, "the first value of " + loop.carried[i]);
    RequireDType(op, next, dtype, "the next value of " + loop.carried[i]);
    VarDesc& output = outputs.emplace_back();
    output.dtype = dtype;
    output.dims = Common(first.dims, next.dims);
  }
  const int64_t trips = CountElements(program, op, loop);
  const bool whole = op.Input("MaxTrips").empty() && loop.condition_out.empty();
  for (size_t i = 0; i < loop.stacked.size(); ++i) {
    const VarDesc& each = OutputOf(program, op, loop.block, loop.stacked[i]);
    VarDesc& output = outputs.emplace_back();
    output.dtype = each.dtype;
    output.dims = WithAxis(op, each.dims,
                           loop.stacked_axes.empty() ? 0 : loop.stacked_axes[i],
                           loop.max_trips > 0 ? loop.max_trips
                           : whole            ? trips
                                              : kUnknownDim);
  }
  if (loop.max_trips > 0) {
    VarDesc& count = outputs.emplace_back();
    count.dtype = DType::kInt64;
    count.dims = DDim({1});
  }
  return outputs;
}

}  // namespace

IfBlocks IfBlocksOf(const OpDesc& op) {
  return {BlockAttr(op, kThenBlock), BlockAttr(op, kElseBlock),
          Attr<Names>(op, "then_outputs"), Attr<Names>(op, "else_outputs")};
}

LoopBlock LoopBlockOf(const OpDesc& op) {
  using Ints = std::vector<int64_t>;
  return {.block = BlockAttr(op, kLoopBlock),
          .iteration = Attr<std::string>(op, "iteration"),
          .condition_in = Attr<std::string>(op, "condition_in"),
          .carried = Attr<Names>(op, "carried"),
          .slices = Attr<Names>(op, "slices"),
          .condition_out = Attr<std::string>(op, "condition_out"),
          .carried_out = Attr<Names>(op, "carried_out"),
          .stacked = Attr<Names>(op, "stacked"),
          .sequence_axes = Attr<Ints>(op, "sequence_axes"),
          .sequence_reversed = Attr<Ints>(op, "sequence_reversed"),
          .stacked_axes = Attr<Ints>(op, "stacked_axes"),
          .stacked_reversed = Attr<Ints>(op, "stacked_reversed"),
          .limit = Attr<int64_t>(op, "limit"),
          .max_trips = Attr<int64_t>(op, "max_trips"),
          .recompute = Attr<bool>(op, "recompute")};
}

std::vector<const char*> BlockAttributes(const OpDesc& op) {
  switch (RoleOf(op)) {
    case OpRole::kIf:
      return {kThenBlock, kElseBlock};
    case OpRole::kLoop:
      return {kLoopBlock};
    default:
      return {};
  }
}

std::vector<int> BlocksOf(const OpDesc& op) {
  std::vector<int> blocks;
  for (const char* attribute : BlockAttributes(op)) {
    blocks.push_back(BlockAttr(op, attribute));
  }
  return blocks;
}

void CompleteBlockOp(const Program& program, OpDesc* op) {
  std::erase_if(op->inputs, [](auto& input) { return input.first == "X"; });
  if (RoleOf(*op) == OpRole::kIf) {
    CompleteIf(program, op);
  } else {
    CompleteLoop(program, op);
  }
}

size_t CountOutputs(const OpDesc& op, const std::string& output) {
  if (RoleOf(op) == OpRole::kIf) return IfBlocksOf(op).then_outputs.size();
  const LoopBlock loop = LoopBlockOf(op);
  if (output == "Trips") return loop.max_trips > 0 ? 1 : 0;
  return output == "Out" ? loop.carried_out.size() : loop.stacked.size();
}

std::vector<VarDesc> BlockOpOutputs(const Program& program, const OpDesc& op) {
  std::vector<VarDesc> outputs = RoleOf(op) == OpRole::kIf
                                     ? IfOutputs(program, op)
                                     : LoopOutputs(program, op);
  const OpSchema& schema = Registry::Global().Schema(op.type);
  for (const ArgDef& def : schema.outputs()) {
    const size_t expected = CountOutputs(op, def.name);
    SLUICE_ENFORCE(op.Output(def.name).size() == expected,
                   ErrorCode::kInvalidArgument, "block_op.output_count",
                   "{}: output {} has {} variables, its blocks give {}",
                   op.type, def.name, op.Output(def.name).size(), expected);
  }
  const Names names = FlatOutputs(schema, op);
  for (size_t i = 0; i < names.size(); ++i) {
    outputs[i].name = names[i];
  }
  return outputs;
}

std::vector<BlockDesc> ExtractBlock(const Program& program, int block) {
  const auto& blocks = program.blocks();
  std::map<int, int> new_index = {{block, 0}};
  std::vector<BlockDesc> extracted;
  // A block has a larger index than the block around it.
  for (int i = block; i < static_cast<int>(blocks.size()); ++i) {
    if (i != block) {
      if (new_index.count(blocks[i].parent) == 0) continue;
      const int index = static_cast<int>(new_index.size());
      new_index[i] = index;
    }
    BlockDesc& copy = extracted.emplace_back(blocks[i]);
    copy.index = new_index[i];
    copy.parent = i == block ? -1 : new_index[blocks[i].parent];
  }
  for (BlockDesc& each : extracted) {
    for (OpDesc& op : each.ops) {
      for (const char* attribute : BlockAttributes(op)) {
        op.attributes[attribute] =
            int64_t{new_index.at(BlockAttr(op, attribute))};
      }
    }
  }
  Names outer;
  AddOuterVars(program, block, {}, &outer);
  for (const std::string& name : outer) {
    VarDesc var = *FindFrom(program, blocks[block].parent, name);
    var.is_data = !var.persistable;
    extracted[0].AddVar(std::move(var));
  }
  return extracted;
}

}  // namespace sluice
