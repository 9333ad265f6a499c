#include "sluice/framework/program/program.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <span>

#include "sluice/framework/hints/kernel_hints.h"
#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/near_names.h"
#include "sluice/framework/op/op_check.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/program/internal_ops.h"
#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice::framework {

using platform::ErrorCode;

namespace {
uint64_t NextUid() {
  static std::atomic<uint64_t> next{1};
  return next++;
}

}  // namespace

void AddLocation(const SourceLocation& location,
                 platform::Error* error) noexcept {
  try {
    error->AddContext(DescribeLocation(location));
  } catch (const std::bad_alloc&) {
    return;
  }
}

Program& Var::program() const {
  SLUICE_ENFORCE(program_ != nullptr, ErrorCode::kFailedPrecondition,
                 "var.empty",
                 "this Var belongs to no program: take one from Program::Data "
                 "or from a builder");
  return *program_;
}

const DDim& Var::dims() const {
  return program().FindVar(name_).dims;
}
DType Var::dtype() const {
  return program().FindVar(name_).dtype;
}

const VarDesc* BlockDesc::FindVar(std::string_view name) const {
  const auto found = positions_.find(name);
  return found == positions_.end() ? nullptr : &vars_[found->second];
}

VarDesc& BlockDesc::AddVar(VarDesc var) {
  SLUICE_ENFORCE(!var.name.empty(), ErrorCode::kInvalidArgument,
                 "program.var_unnamed", "a variable needs a name");
  SLUICE_ENFORCE(platform::IsUtf8(var.name), ErrorCode::kInvalidArgument,
                 "program.var_name",
                 "the name of a variable must be UTF-8, got {}",
                 platform::Shown(var.name));
  const auto [position, added] = positions_.emplace(var.name, vars_.size());
  SLUICE_ENFORCE(added, ErrorCode::kInvalidArgument, "program.var_twice",
                 "the program has a variable {} already",
                 platform::Shown(var.name));
  try {
    return vars_.emplace_back(std::move(var));
  } catch (...) {
    positions_.erase(position);
    throw;
  }
}

VarDesc* BlockDesc::MutableVar(std::string_view name) {
  const auto found = positions_.find(name);
  return found == positions_.end() ? nullptr : &vars_[found->second];
}

void BlockDesc::ShrinkVars(size_t count) noexcept {
  while (vars_.size() > count) {
    positions_.erase(positions_.find(vars_.back().name));
    vars_.pop_back();
  }
}

Program::Program() try : blocks_(1), uid_(NextUid()) {
} catch (const std::bad_alloc&) {
  platform::RaiseOutOfMemory();
}

Program::Program(const Program& other) try
    : blocks_(other.blocks_),
      op_counts_(other.op_counts_),
      data_locations_(other.data_locations_),
      uid_(NextUid()),
      version_(other.version_),
      purpose_(other.purpose_),
      hints_(other.hints_) {
} catch (const std::bad_alloc&) {
  platform::RaiseOutOfMemory();
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
  op_counts_.swap(other.op_counts_);
  data_locations_.swap(other.data_locations_);
  std::swap(uid_, other.uid_);
  std::swap(version_, other.version_);
  std::swap(purpose_, other.purpose_);
  hints_.swap(other.hints_);
  return *this;
}

VarDesc& Program::AddVar(VarDesc var) {
  ++version_;
  return blocks_[0].AddVar(std::move(var));
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
    AddVar(std::move(var));
  } catch (...) {
    if (added) data_locations_.erase(position);
    throw;
  }
  return result;
} catch (const std::bad_alloc&) {
  platform::RaiseOutOfMemory();
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
  AddVar(std::move(var));
  return result;
} catch (const std::bad_alloc&) {
  platform::RaiseOutOfMemory();
}

const VarDesc& Program::FindVar(std::string_view name) const {
  const VarDesc* var = block().FindVar(name);
  if (var == nullptr) {
    std::vector<std::string> names;
    for (const VarDesc& known : block().vars()) {
      names.push_back(known.name);
    }
    platform::Raise(ErrorCode::kNotFound, "program.unknown_var",
                    "the program has no variable {}{}", platform::Shown(name),
                    SuggestNames(name, names));
  }
  return *var;
}

SourceLocation Program::LocationOfData(std::string_view name) const {
  const auto found = data_locations_.find(name);
  return found == data_locations_.end() ? SourceLocation{} : found->second;
}

namespace {
Program& CommonProgram(std::span<const Var* const> vars) {
  Program* program = nullptr;
  for (const Var* var : vars) {
    if (program != nullptr && !var->valid()) continue;
    SLUICE_ENFORCE(program == nullptr || program == &var->program(),
                   ErrorCode::kInvalidArgument, "program.mixed",
                   "variable {} belongs to another program than the op's other "
                   "inputs",
                   var->name());
    program = &var->program();
  }
  if (program == nullptr) {
    platform::Raise(ErrorCode::kFailedPrecondition, "program.common_of_none",
                    "an op without inputs belongs to no program");
  }
  return *program;
}
}  // namespace

Program& Program::Common(std::initializer_list<const Var*> vars) {
  return CommonProgram({vars.begin(), vars.size()});
}

Program& Program::CommonOf(const OpDesc& op,
                           const std::vector<const Var*>& vars) {
  try {
    return CommonProgram(vars);
  } catch (const platform::Error& error) {
    platform::Error named(error.code(), error.check_id(),
                          platform::Format("{}: {}", op.type, error.what()));
    AddLocation(op.location, &named);
    throw named;
  }
}

Var Program::Find(std::string_view name) {
  return Var(this, FindVar(name).name);
}

int Program::AddBlock(int parent) {
  SLUICE_ENFORCE(parent >= 0 && parent < static_cast<int>(blocks_.size()),
                 ErrorCode::kOutOfRange, "program.block_parent",
                 "block {} cannot be a parent: there are {} blocks", parent,
                 blocks_.size());
  blocks_.emplace_back(static_cast<int>(blocks_.size()), parent);
  ++version_;
  return blocks_.back().index;
}

std::string Program::NewName(std::string_view op, std::string_view argument) {
  int& count = op_counts_.find(op)->second;
  std::string name = platform::Format("{}_{}.{}", op, count, argument);
  // Somebody may have chosen the very same name, or a file brought it.
  while (block().FindVar(name) != nullptr) {
    name = platform::Format("{}_{}.{}", op, ++count, argument);
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
      vars.push_back(NewName(op->type, def.name));
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
  platform::RaiseOutOfMemory();
}

const OpDesc& Program::AppendOp(OpDesc op) {
  const size_t vars = block().vars().size();
  const auto count = op_counts_.find(op.type);
  const int ops = count == op_counts_.end() ? 0 : count->second;
  // The program is as it was, whatever is thrown.
  const auto take_back = [&] {
    blocks_[0].ShrinkVars(vars);
    const auto counted = op_counts_.find(op.type);
    if (counted != op_counts_.end()) counted->second = ops;
  };
  try {
    return AppendChecked(&op);
  } catch (platform::Error& error) {
    take_back();
    AddLocation(op.location, &error);
    throw;
  } catch (const std::bad_alloc&) {
    take_back();
    platform::RaiseOutOfMemory();
  } catch (...) {
    take_back();
    throw;
  }
}

const OpDesc& Program::AppendChecked(OpDesc* added_op) {
  OpDesc& op = *added_op;
  const OpSchema& schema = Registry::Global().Schema(op.type);
  SLUICE_ENFORCE(!schema.internal() || InternalOpsAllowed(),
                 ErrorCode::kInvalidArgument, "program.internal_op",
                 "{} is made by passes when a program is prepared; it cannot "
                 "be added to one",
                 op.type);
  if (op.purpose == OpPurpose::kForward) op.purpose = purpose_;
  ParseKernelHints(op.hint, "op attribute");
  CompleteOp(schema, &op);
  std::vector<DDim> dims;
  std::vector<DType> dtypes;
  for (const std::string& name : FlatInputs(schema, op)) {
    const VarDesc& var = FindVar(name);
    dims.push_back(var.dims);
    dtypes.push_back(var.dtype);
  }
  const BoundTypes types(schema, op, dtypes);
  AddOutputs(schema, &op);
  const auto shapes =
      InferShapes(schema, op, std::move(dims), std::move(dtypes));

  std::vector<VarDesc> added;
  for (size_t i = 0; i < schema.outputs().size(); ++i) {
    const ArgDef& def = schema.outputs()[i];
    const ArgVars& vars = op.Output(def.name);
    for (size_t element = 0; element < vars.size(); ++element) {
      VarDesc var;
      var.name = vars[element];
      var.dtype = types.Of(def);
      var.dims = shapes[i][element];
      const bool twice =
          std::any_of(added.begin(), added.end(),
                      [&](auto& other) { return other.name == var.name; });
      SLUICE_ENFORCE(
          !twice, ErrorCode::kInvalidArgument, "program.output_twice",
          "{}: variable {} cannot be two of its outputs", op.type, var.name);
      const VarDesc* known = block().FindVar(var.name);
      if (known == nullptr) {
        added.push_back(std::move(var));
        continue;
      }
      SLUICE_ENFORCE(known->dtype == var.dtype, ErrorCode::kInvalidArgument,
                     "program.output_dtype",
                     "{}: output {} is {}, variable {} is {}", op.type,
                     def.name, var.dtype, var.name, known->dtype);
      SLUICE_ENFORCE(!known->is_data, ErrorCode::kInvalidArgument,
                     "program.output_is_data",
                     "{}: output {} cannot be variable {}, which is fed",
                     op.type, def.name, var.name);
      SLUICE_ENFORCE(
          !known->persistable || !var.dims.known() || known->dims == var.dims,
          ErrorCode::kInvalidArgument, "program.output_dims",
          "{}: output {} has shape {}, persistable variable {} has "
          "{}",
          op.type, def.name, var.dims, var.name, known->dims);
    }
  }
  for (VarDesc& var : added) {
    AddVar(std::move(var));
  }
  ++version_;
  return blocks_[0].ops.emplace_back(std::move(op));
}

void Program::SetStopGradient(std::string_view name, bool stop) {
  FindVar(name);
  blocks_[0].MutableVar(name)->stop_gradient = stop;
  ++version_;
}

Program Program::CloneForTest() const {
  Program clone(*this);
  for (BlockDesc& block : clone.blocks_) {
    std::erase_if(block.ops, [](const OpDesc& op) {
      return op.purpose != OpPurpose::kForward;
    });
    for (OpDesc& op : block.ops) {
      const auto attribute = op.attributes.find("is_test");
      if (attribute != op.attributes.end()) attribute->second = true;
    }
  }
  return clone;
}

OpDesc& Program::LastOp() {
  if (block().ops.empty()) {
    platform::Raise(ErrorCode::kFailedPrecondition, "program.no_op",
                    "the program has no op yet");
  }
  return blocks_[0].ops.back();
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

}  // namespace sluice::framework
