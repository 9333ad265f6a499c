// Variables of programs: Var, those of a block, and what programs set of them.
#include "sluice/framework/program/program.h"
#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice {

Var::Var(Program* program, std::string name)
    : program_(program),
      program_uid_(program == nullptr ? 0 : program->uid()),
      name_(std::move(name)) {}

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

Var Var::offsets() const {
  const std::string& name = program().FindVar(name_).offsets;
  return name.empty() ? Var() : Var(program_, name);
}
Var Var::rows() const {
  const std::string& name = program().FindVar(name_).rows;
  return name.empty() ? Var() : Var(program_, name);
}

const VarDesc* BlockDesc::FindVar(std::string_view name) const {
  const auto found = positions_.find(name);
  return found == positions_.end() ? nullptr : &vars_[found->second];
}

VarDesc& BlockDesc::AddVar(VarDesc var) {
  SLUICE_ENFORCE(!var.name.empty(), ErrorCode::kInvalidArgument,
                 "program.var_unnamed", "a variable needs a name");
  SLUICE_ENFORCE(
      IsUtf8(var.name), ErrorCode::kInvalidArgument, "program.var_name",
      "the name of a variable must be UTF-8, got {}", Shown(var.name));
  const auto [position, added] = positions_.emplace(var.name, vars_.size());
  SLUICE_ENFORCE(added, ErrorCode::kInvalidArgument, "program.var_twice",
                 "the program has a variable {} already", Shown(var.name));
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
    Raise(ErrorCode::kFailedPrecondition, "program.common_of_none",
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
  } catch (const Error& error) {
    Error named(error.code(), error.check_id(),
                Format("{}: {}", op.type, error.what()));
    AddLocation(op.location, &named);
    throw named;
  }
}

void Program::SetStopGradient(std::string_view name, bool stop) {
  FindVar(name);
  for (int block = current_block_; block >= 0; block = blocks_[block].parent) {
    VarDesc* var = blocks_[block].MutableVar(name);
    if (var == nullptr) continue;
    var->stop_gradient = stop;
    break;
  }
  ++version_;
}

namespace {
// Calls `set` for the variable in each block that has it.
template <typename Set>
void SetInBlocks(std::string_view name,
                 Set set,
                 std::vector<BlockDesc>* blocks) {
  for (BlockDesc& block : *blocks) {
    VarDesc* var = block.MutableVar(name);
    if (var != nullptr) set(var);
  }
}
}  // namespace

void Program::SetReplicated(std::string_view name) {
  FindVar(name);
  SetInBlocks(
      name, [](VarDesc* var) { var->replicated = true; }, &blocks_);
  ++version_;
}

void Program::SetOffsets(std::string_view name, std::string_view offsets) {
  FindVar(name);
  FindVar(offsets);
  SetInBlocks(
      name, [&](VarDesc* var) { var->offsets = offsets; }, &blocks_);
  ragged_ = true;
  ++version_;
}

void Program::SetRows(std::string_view name, std::string_view rows) {
  FindVar(name);
  FindVar(rows);
  SetInBlocks(
      name, [&](VarDesc* var) { var->rows = rows; }, &blocks_);
  ++version_;
}

}  // namespace sluice
