#include "sluice/framework/program/prune.h"

#include <algorithm>
#include <new>
#include <set>

#include "sluice/framework/program/block_ops.h"
#include "sluice/framework/program/variable_owners.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

using Names = std::set<std::string, std::less<>>;

template <typename Arguments>
void AddNames(const Arguments& arguments, Names* names) {
  for (const auto& [argument, vars] : arguments) {
    names->insert(vars.begin(), vars.end());
  }
}

// Returns the ops on which `wanted` depends.
std::vector<const OpDesc*> NeededOps(const std::vector<OpDesc>& ops,
                                     Names wanted) {
  std::vector<const OpDesc*> needed;
  for (size_t i = ops.size(); i-- > 0;) {
    Names made;
    AddNames(ops[i].outputs, &made);
    const bool is_needed = std::any_of(
        made.begin(), made.end(),
        [&](const std::string& name) { return wanted.contains(name); });
    if (!is_needed) continue;
    needed.push_back(&ops[i]);
    // Earlier values of its outputs are not needed, unless they are read.
    for (const std::string& name : made) {
      wanted.erase(name);
    }
    AddNames(ops[i].inputs, &wanted);
  }
  std::reverse(needed.begin(), needed.end());
  return needed;
}

int64_t CopyBlock(const Program& from, int block, Program* to);

// Copies the op, and the blocks that it runs into `to`.
OpDesc CopyWithBlocks(const Program& from, OpDesc op, Program* to) {
  for (const char* attribute : BlockAttributes(op)) {
    auto& block = std::get<int64_t>(op.attributes[attribute]);
    block = CopyBlock(from, static_cast<int>(block), to);
  }
  return op;
}

int64_t CopyBlock(const Program& from, int block, Program* to) {
  const int64_t copy = to->BeginBlock();
  for (const VarDesc& var : from.blocks()[block].vars()) {
    if (var.is_data) to->Data(var.name, var.dtype, var.dims, "", 0);
  }
  for (const VarDesc& var : from.blocks()[block].vars()) {
    const bool cut = var.is_data && !var.offsets.empty();
    if (cut) to->SetOffsets(var.name, var.offsets);
  }
  CopyOps(from, block, to);
  to->EndBlock();
  return copy;
}

}  // namespace

void CopyOps(const Program& from, int block, Program* to) {
  const BlockDesc& desc = from.blocks()[block];
  for (const OpDesc& op : desc.ops) {
    to->AppendOp(CopyWithBlocks(from, op, to));
  }
  for (const VarDesc& var : desc.vars()) {
    to->SetStopGradient(var.name, var.stop_gradient);
  }
}

Program Prune(const Program& program,
              const std::vector<std::string>& fetches) try {
  Names used;
  for (const std::string& fetch : fetches) {
    used.insert(program.FindVar(fetch).name);
  }
  const auto needed = NeededOps(program.block().ops, used);
  for (const OpDesc* op : needed) {
    AddNames(op->inputs, &used);
    AddNames(op->outputs, &used);
  }
  for (const VarDesc& var : program.block().vars()) {
    // Offsets are created after their variable.
    if (var.is_data && used.contains(var.name)) used.insert(var.offsets);
  }
  Program pruned;
  for (const VarDesc& var : program.block().vars()) {
    if (!used.contains(var.name)) continue;
    if (var.persistable) pruned.Persistable(var.name, var.dtype, var.dims);
    if (!var.is_data) continue;
    const SourceLocation made = program.LocationOfData(var.name);
    pruned.Data(var.name, var.dtype, var.dims, made.file.c_str(), made.line);
  }
  for (const VarDesc& var : program.block().vars()) {
    if (!var.is_data || !used.contains(var.name)) continue;
    if (!var.offsets.empty()) pruned.SetOffsets(var.name, var.offsets);
  }
  for (const OpDesc* op : needed) {
    pruned.AppendOp(CopyWithBlocks(program, *op, &pruned));
  }
  for (const VarDesc& var : program.block().vars()) {
    if (!used.contains(var.name)) continue;
    pruned.SetStopGradient(var.name, var.stop_gradient);
  }
  pruned.SetPurpose(program.purpose());
  pruned.SetHints(program.hints());
  InheritVariables(program, pruned);
  return pruned;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
