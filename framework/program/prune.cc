#include "sluice/framework/program/prune.h"

#include <algorithm>
#include <new>
#include <set>

#include "sluice/platform/error.h"

namespace sluice::framework {

using platform::ErrorCode;

namespace {

using Names = std::set<std::string, std::less<>>;

template <typename Arguments>
void AddNames(const Arguments& arguments, Names* names) {
  for (const auto& [argument, vars] : arguments) {
    names->insert(vars.begin(), vars.end());
  }
}

// The ops that `wanted` is computed from.
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
    // Values that it replaces are of no use, unless something else reads them.
    for (const std::string& name : made) {
      wanted.erase(name);
    }
    AddNames(ops[i].inputs, &wanted);
  }
  std::reverse(needed.begin(), needed.end());
  return needed;
}

}  // namespace

Program Prune(const Program& program,
              const std::vector<std::string>& fetches) try {
  SLUICE_ENFORCE(program.blocks().size() == 1, ErrorCode::kUnimplemented,
                 "program.prune_blocks",
                 "the program has {} blocks; programs of one block can be "
                 "pruned",
                 program.blocks().size());
  Names used;
  for (const std::string& fetch : fetches) {
    used.insert(program.FindVar(fetch).name);
  }
  const auto needed = NeededOps(program.block().ops, used);
  for (const OpDesc* op : needed) {
    AddNames(op->inputs, &used);
    AddNames(op->outputs, &used);
  }
  Program pruned;
  for (const VarDesc& var : program.block().vars()) {
    if (!used.contains(var.name)) continue;
    if (var.persistable) pruned.Persistable(var.name, var.dtype, var.dims);
    if (!var.is_data) continue;
    const SourceLocation made = program.LocationOfData(var.name);
    pruned.Data(var.name, var.dtype, var.dims, made.file.c_str(), made.line);
  }
  for (const OpDesc* op : needed) {
    pruned.AppendOp(*op);
  }
  for (const VarDesc& var : program.block().vars()) {
    if (!used.contains(var.name)) continue;
    pruned.SetStopGradient(var.name, var.stop_gradient);
  }
  pruned.SetPurpose(program.purpose());
  pruned.SetHints(program.hints());
  return pruned;
} catch (const std::bad_alloc&) {
  platform::RaiseOutOfMemory();
}

}  // namespace sluice::framework
