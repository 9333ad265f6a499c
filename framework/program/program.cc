#include "sluice/framework/program/program.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <ranges>
#include <set>

#include "sluice/framework/hints/kernel_hints.h"
#include "sluice/framework/op/near_names.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/program/block_gradients.h"
#include "sluice/framework/program/block_ops.h"
#include "sluice/framework/program/internal_ops.h"
#include "sluice/framework/program/value_kinds.h"
#include "sluice/framework/program/variable_owners.h"
#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice {

namespace {
uint64_t NextUid() {
  static std::atomic<uint64_t> next{1};
  return next++;
}

}  // namespace

struct Program::BlockPrograms {
  std::mutex mutex;
  uint64_t version = 0;
  std::map<int, std::shared_ptr<const Program>> programs;
};

Program::Program() try
    : blocks_(1),
      uid_(NextUid()),
      block_programs_(std::make_unique<BlockPrograms>()) {
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

Program::Program(const Program& other) try
    : blocks_(other.blocks_),
      current_block_(other.current_block_),
      op_counts_(other.op_counts_),
      data_locations_(other.data_locations_),
      uid_(NextUid()),
      version_(other.version_),
      purpose_(other.purpose_),
      hints_(other.hints_),
      ragged_(other.ragged_),
      equal_offsets_(other.equal_offsets_),
      block_programs_(std::make_unique<BlockPrograms>()) {
  InheritVariables(other, *this);
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

Program::~Program() {
  ForgetOwners(uid_);
}

Program& Program::operator=(const Program& other) {
  return *this = Program(other);
}

// NOLINTNEXTLINE(performance-noexcept-move-constructor)
Program::Program(Program&& other) : Program() {
  *this = std::move(other);
}

Program& Program::operator=(Program&& other) noexcept {
  blocks_.swap(other.blocks_);
  std::swap(current_block_, other.current_block_);
  block_programs_.swap(other.block_programs_);
  op_counts_.swap(other.op_counts_);
  data_locations_.swap(other.data_locations_);
  std::swap(uid_, other.uid_);
  std::swap(version_, other.version_);
  std::swap(purpose_, other.purpose_);
  hints_.swap(other.hints_);
  std::swap(ragged_, other.ragged_);
  equal_offsets_.swap(other.equal_offsets_);
  return *this;
}

VarDesc& Program::AddVar(VarDesc var, int block) {
  ++version_;
  for (int around = blocks_[block].parent; around >= 0;
       around = blocks_[around].parent) {
    SLUICE_ENFORCE(blocks_[around].FindVar(var.name) == nullptr,
                   ErrorCode::kInvalidArgument, "program.var_hides",
                   "block {} cannot have a variable {}: block {} around it has "
                   "one of that name",
                   block, Shown(var.name), around);
  }
  return blocks_[block].AddVar(std::move(var));
}

const VarDesc* Program::FindVisible(std::string_view name) const {
  for (int block = current_block_; block >= 0; block = blocks_[block].parent) {
    const VarDesc* var = blocks_[block].FindVar(name);
    if (var != nullptr) return var;
  }
  return nullptr;
}

Var Program::Data(std::string_view name,
                  DType dtype,
                  const DDim& dims,
                  const char* file,
                  int line) try {
  VarDesc var;
  var.name = name;
  var.dtype = dtype;
  var.dims = dims;
  var.is_data = true;
  var.stop_gradient = true;
  Var result(this, var.name);
  const auto [position, added] =
      data_locations_.emplace(var.name, SourceLocation{file, line});
  try {
    AddVar(std::move(var), current_block_);
  } catch (...) {
    if (added) data_locations_.erase(position);
    throw;
  }
  return result;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

Var Program::Persistable(std::string_view name,
                         DType dtype,
                         const DDim& dims) try {
  SLUICE_ENFORCE(
      dims.known(), ErrorCode::kInvalidArgument, "program.persistable_dims",
      "the shape of persistable variable {} must be known, got {}", name, dims);
  VarDesc var;
  var.name = name;
  var.dtype = dtype;
  var.dims = dims;
  var.persistable = true;
  Var result(this, var.name);
  AddVar(std::move(var), 0);
  return result;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

const VarDesc& Program::FindVar(std::string_view name) const {
  const VarDesc* var = FindVisible(name);
  if (var == nullptr) {
    std::vector<std::string> names;
    for (const BlockDesc& block : blocks_) {
      SLUICE_ENFORCE(block.FindVar(name) == nullptr, ErrorCode::kNotFound,
                     "program.var_of_block",
                     "variable {} belongs to block {}; ops outside of it "
                     "cannot read it: make it an output of the block",
                     Shown(name), block.index);
    }
    for (int block = current_block_; block >= 0;
         block = blocks_[block].parent) {
      for (const VarDesc& known : blocks_[block].vars()) {
        names.push_back(known.name);
      }
    }
    Raise(ErrorCode::kNotFound, "program.unknown_var",
          "the program has no variable {}{}", Shown(name),
          SuggestNames(name, names));
  }
  return *var;
}

SourceLocation Program::LocationOfData(std::string_view name) const {
  const auto found = data_locations_.find(name);
  return found == data_locations_.end() ? SourceLocation{} : found->second;
}

Var Program::Find(std::string_view name) {
  return Var(this, FindVar(name).name);
}

int Program::BeginBlock() try {
  int depth = 1;
  for (int block = current_block_; block > 0; block = blocks_[block].parent) {
    ++depth;
  }
  SLUICE_ENFORCE(depth <= kMaxBlockDepth, ErrorCode::kResourceExhausted,
                 "program.block_depth",
                 "a program has at most {} blocks in each other",
                 int{kMaxBlockDepth});
  blocks_.emplace_back(static_cast<int>(blocks_.size()), current_block_);
  ++version_;
  return current_block_ = blocks_.back().index;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

void Program::EndBlock() {
  if (current_block_ == 0) {
    Raise(ErrorCode::kFailedPrecondition, "program.no_block",
          "there is no block to end: block 0 is the program itself");
  }
  current_block_ = blocks_[current_block_].parent;
}

void Program::DropBlocks(int first) noexcept {
  if (first <= 0 || first >= static_cast<int>(blocks_.size())) return;
  current_block_ = blocks_[first].parent;
  while (static_cast<int>(blocks_.size()) > first) {
    blocks_.pop_back();
  }
  ++version_;
}

void Program::AddSaved(VarDesc var, int block) {
  var.is_data = true;
  AddVar(std::move(var), block);
}

void Program::ReplaceOp(int block, int index, OpDesc op) {
  const int current = std::exchange(current_block_, block);
  for (VarDesc& var : BlockOpOutputs(*this, op)) {
    if (FindVisible(var.name) == nullptr) AddVar(std::move(var), block);
  }
  blocks_[block].ops[index] = std::move(op);
  current_block_ = current;
  ++version_;
}

std::shared_ptr<const Program> Program::BlockProgram(int block) const try {
  const std::lock_guard lock(block_programs_->mutex);
  auto& programs = block_programs_->programs;
  if (block_programs_->version != version_) programs.clear();
  block_programs_->version = version_;
  auto& program = programs[block];
  if (program == nullptr) {
    auto made = std::make_shared<Program>();
    made->blocks_ = ExtractBlock(*this, block);
    made->op_counts_ = op_counts_;
    made->hints_ = hints_;
    program = std::move(made);
  }
  return program;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

std::string Program::NewName(std::string_view op, std::string_view argument) {
  int& count = op_counts_.find(op)->second;
  std::string name = Format("{}_{}.{}", op, count, argument);
  // A user or a file may have used the same name.
  const auto is_taken = [&](const BlockDesc& block) {
    return block.FindVar(name) != nullptr;
  };
  while (std::any_of(blocks_.begin(), blocks_.end(), is_taken)) {
    name = Format("{}_{}.{}", op, ++count, argument);
  }
  return name;
}

void Program::AddOutputs(const OpSchema& schema, OpDesc* op) {
  ++op_counts_[op->type];
  std::vector<std::pair<std::string, ArgVars>> outputs;
  for (const ArgDef& def : schema.outputs()) {
    ArgVars vars = op->Output(def.name);
    if (vars.empty() && !def.updates.empty()) {
      for (const std::string& input : op->Input(def.updates)) {
        if (FindVar(input).persistable) vars.push_back(input);
      }
    }
    if (vars.empty() && !def.traits.optional) {
      const size_t count =
          schema.holds_blocks()
              ? CountOutputs(*op, def.name)
              : std::max<size_t>(op->Input(def.overwrites).size(), 1);
      while (vars.size() < count) {
        if (!vars.empty()) ++op_counts_[op->type];
        vars.push_back(NewName(op->type, def.name));
      }
    }
    if (!vars.empty()) outputs.emplace_back(def.name, std::move(vars));
  }
  op->outputs = std::move(outputs);
}

const OpDesc& Program::AppendOp(std::string_view type,
                                ArgList inputs,
                                AttributeMap attributes,
                                SourceLocation location,
                                ArgList outputs) try {
  OpDesc op;
  op.type = type;
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  op.attributes = std::move(attributes);
  op.location = std::move(location);
  return AppendOp(std::move(op));
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

const OpDesc& Program::AppendOp(OpDesc op) {
  const size_t vars = blocks_[current_block_].vars().size();
  const auto count = op_counts_.find(op.type);
  const int ops = count == op_counts_.end() ? 0 : count->second;
  // Restores the program on any exception.
  const auto take_back = [&] {
    blocks_[current_block_].ShrinkVars(vars);
    const auto counted = op_counts_.find(op.type);
    if (counted != op_counts_.end()) counted->second = ops;
  };
  try {
    return AppendChecked(&op);
  } catch (Error& error) {
    take_back();
    AddLocation(op.location, &error);
    throw;
  } catch (const std::bad_alloc&) {
    take_back();
    RaiseOutOfMemory();
  } catch (...) {
    take_back();
    throw;
  }
}

void Program::Complete(AppendedOp* added) {
  OpDesc& op = added->op;
  const OpSchema& schema = added->schema;
  SLUICE_ENFORCE(!schema.internal() || InternalOpsAllowed(),
                 ErrorCode::kInvalidArgument, "program.internal_op",
                 "{} is made by passes when a program is prepared; it cannot "
                 "be added to one",
                 op.type);
  if (op.purpose == OpPurpose::kForward) op.purpose = purpose_;
  const auto kinds = ValueKinds();
  for (const ValueKind& kind : kinds) {
    if (kind.complete != nullptr) kind.complete(added);
  }
  AddOutputs(schema, &op);
  for (const ValueKind& kind : std::views::reverse(kinds)) {
    if (kind.infer != nullptr) kind.infer(added);
  }
}

std::vector<RaggedInput> Program::RaggedInputs(OpDesc op) {
  std::vector<RaggedInput> inputs;
  const auto counts = op_counts_;
  try {
    AppendedOp added{*this, Registry::Global().Schema(op.type), op};
    added.ragged_inputs = &inputs;
    Complete(&added);
  } catch (Error& error) {
    op_counts_ = counts;
    AddLocation(op.location, &error);
    throw;
  }
  op_counts_ = counts;
  return inputs;
}

const OpDesc& Program::AppendChecked(OpDesc* appended) {
  OpDesc& op = *appended;
  AppendedOp added{*this, Registry::Global().Schema(op.type), op};
  Complete(&added);

  std::set<std::string_view> names;
  size_t flat = 0;
  for (const auto& [argument, vars] : op.outputs) {
    for (const std::string& name : vars) {
      SLUICE_ENFORCE(names.insert(name).second, ErrorCode::kInvalidArgument,
                     "program.output_twice",
                     "{}: variable {} cannot be two of its outputs", op.type,
                     name);
      const VarDesc* known = FindVisible(name);
      if (known != nullptr) {
        CheckOutput(op, argument, added.outputs[flat], *known);
      }
      ++flat;
    }
  }
  for (VarDesc& var : added.outputs) {
    ragged_ = ragged_ || !var.offsets.empty();
    if (FindVisible(var.name) == nullptr) {
      AddVar(std::move(var), current_block_);
    }
  }
  equal_offsets_.insert(equal_offsets_.end(), added.equal_offsets.begin(),
                        added.equal_offsets.end());
  ++version_;
  return blocks_[current_block_].ops.emplace_back(std::move(op));
}

// Checks that an output may be an existing variable.
void Program::CheckOutput(const OpDesc& op,
                          const std::string& argument,
                          const VarDesc& made,
                          const VarDesc& known) const {
  SLUICE_ENFORCE(known.dtype == made.dtype, ErrorCode::kInvalidArgument,
                 "program.output_dtype",
                 "{}: output {} is {}, variable {} is {}", op.type, argument,
                 made.dtype, made.name, known.dtype);
  SLUICE_ENFORCE(!known.is_data, ErrorCode::kInvalidArgument,
                 "program.output_is_data",
                 "{}: output {} cannot be variable {}, which is fed", op.type,
                 argument, made.name);
  SLUICE_ENFORCE(
      !known.persistable || !made.dims.known() || known.dims == made.dims,
      ErrorCode::kInvalidArgument, "program.output_dims",
      "{}: output {} has shape {}, persistable variable {} has {}", op.type,
      argument, made.dims, made.name, known.dims);
  SLUICE_ENFORCE(blocks_[current_block_].FindVar(made.name) != nullptr,
                 ErrorCode::kInvalidArgument, "program.output_of_block",
                 "{}: output {} cannot be variable {} of a block around it: "
                 "what a block computes leaves it as an output",
                 op.type, argument, made.name);
}

Program Program::CloneForTest() const {
  Program clone(*this);
  for (BlockDesc& block : clone.blocks_) {
    std::erase_if(block.ops, [](const OpDesc& op) {
      return op.purpose != OpPurpose::kForward;
    });
    for (OpDesc& op : block.ops) {
      DropSaved(&op);
      const auto attribute = op.attributes.find("is_test");
      if (attribute != op.attributes.end()) attribute->second = true;
      const OpSchema* schema = Registry::Global().FindSchema(op.type);
      if (schema != nullptr && !schema->test_type().empty()) {
        op.type = schema->test_type();
      }
    }
  }
  return clone;
}

OpDesc& Program::LastOp() {
  auto& ops = blocks_[current_block_].ops;
  if (ops.empty()) {
    Raise(ErrorCode::kFailedPrecondition, "program.no_op",
          "the {} has no op yet", current_block_ == 0 ? "program" : "block");
  }
  return ops.back();
}

Var Program::Output(std::string_view argument, int element) {
  const OpDesc& op = LastOp();
  const ArgVars& vars = op.Output(argument);
  SLUICE_ENFORCE(element >= 0 && element < static_cast<int>(vars.size()),
                 ErrorCode::kNotFound, "program.no_output",
                 "{} has no output {} number {}", op.type, argument, element);
  return Var(this, vars[element]);
}

void Program::Hint(std::string_view hint) {
  OpDesc& op = LastOp();
  ParseKernelHints(hint, "op attribute");
  op.hint = hint;
  ++version_;
}

void Program::SetHints(std::string_view hints) {
  ParseKernelHints(hints, "program");
  hints_ = hints;
  ++version_;
}

}  // namespace sluice
