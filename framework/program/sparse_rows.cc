#include "sluice/framework/program/sparse_rows.h"

namespace sluice {

void NoteSparse(const OpSchema& schema,
                const OpDesc& op,
                std::vector<VarDesc>* made) {
  for (const ArgDef& def : schema.outputs()) {
    if (def.sparse_rows.empty() || op.Output(def.name).empty()) continue;
    for (VarDesc& var : *made) {
      if (var.name != op.Output(def.name)[0]) continue;
      var.rows = op.Output(def.sparse_rows)[0];
    }
  }
}

Var Var::rows() const {
  const std::string& name = program().FindVar(name_).rows;
  return name.empty() ? Var() : Var(program_, name);
}

void Program::SetRows(std::string_view name, std::string_view rows) {
  FindVar(name);
  FindVar(rows);
  for (BlockDesc& block : blocks_) {
    VarDesc* var = block.MutableVar(name);
    if (var != nullptr) var->rows = rows;
  }
  ++version_;
}

}  // namespace sluice
