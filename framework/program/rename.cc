#include <algorithm>
#include <utility>

#include "sluice/framework/program/program.h"
#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice {

void BlockDesc::RenameVar(const std::string& from, const std::string& to) {
  VarDesc renamed = *MutableVar(from);
  renamed.name = to;
  // Checked as a new variable, which is then put into the place of the old one.
  AddVar(std::move(renamed));
  const size_t place = positions_.find(from)->second;
  vars_[place] = std::move(vars_.back());
  vars_.pop_back();
  positions_.find(to)->second = place;
  positions_.erase(from);
}

bool Program::Rename(const std::string& from,
                     const std::string& to,
                     size_t first) {
  BlockDesc& current = blocks_[current_block_];
  bool made = false;
  for (size_t op = first; op < current.ops.size(); ++op) {
    for (const auto& [argument, vars] : current.ops[op].outputs) {
      made = made || std::find(vars.begin(), vars.end(), from) != vars.end();
    }
  }
  const VarDesc* var = current.FindVar(from);
  if (!made || var == nullptr || var->persistable) return false;
  for (const BlockDesc& block : blocks_) {
    SLUICE_ENFORCE(block.FindVar(to) == nullptr, ErrorCode::kInvalidArgument,
                   "program.rename_taken", "there is a variable {} already",
                   Shown(to));
  }
  current.RenameVar(from, to);
  const auto change = [&](std::string* name) {
    if (*name == from) *name = to;
  };
  for (BlockDesc& block : blocks_) {
    if (block.index < current_block_) continue;
    for (const VarDesc& var : block.vars()) {
      VarDesc* mine = block.MutableVar(var.name);
      change(&mine->offsets);
      change(&mine->rows);
    }
    for (size_t op = block.index == current_block_ ? first : 0;
         op < block.ops.size(); ++op) {
      for (auto* arguments : {&block.ops[op].inputs, &block.ops[op].outputs}) {
        for (auto& [argument, vars] : *arguments) {
          std::for_each(vars.begin(), vars.end(),
                        [&](std::string& var) { change(&var); });
        }
      }
    }
  }
  for (auto& [one, other] : equal_offsets_) {
    change(&one);
    change(&other);
  }
  ++version_;
  return true;
}

}  // namespace sluice
