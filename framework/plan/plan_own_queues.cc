// PlanBuilder's functions for ops with a queue of their own (Exchanges).
#include <algorithm>
#include <map>
#include <string>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/plan/plan_builder.h"
#include "sluice/platform/alignment.h"

namespace sluice {

// Moves these ops to right after their inputs are computed, so that later ops
// run concurrently. No op on the way may touch their values. The order depends
// on the graph alone, and so is the same in all processes.
void PlanBuilder::StartEarly() {
  std::map<int, int> moved;  // the last op moved after each op
  const std::vector<int> ids = graph_->order();
  for (const int id : ids) {
    const PreparedOp& op = graph_->Choose(id);
    if (!op.choice().kernel->has_own_queue()) continue;
    int last_writer = -1;
    bool free = true;
    for (const auto& [argument, vars] : op.desc.inputs) {
      for (const std::string& var : vars) {
        const int writer = graph_->Writer(var);
        free &= writer >= 0 && graph_->IsInternal(var);
        if (!free) break;
        if (last_writer < 0 || graph_->Precedes(last_writer, writer)) {
          last_writer = writer;
        }
      }
    }
    for (const auto& [argument, vars] : op.desc.outputs) {
      for (const std::string& var : vars) {
        free &= graph_->Writer(var) == id && !graph_->IsPersistable(var);
      }
    }
    if (!free || last_writer < 0) continue;
    const auto [last, first] = moved.try_emplace(last_writer, id);
    graph_->MoveAfter(first ? last_writer : last->second, id);
    last->second = id;
  }
}

// Makes the inputs of such an op contiguous, so that they are exchanged as a
// whole: if ops of this graph compute them, and no other op reads them.
void PlanBuilder::MakeContiguous() {
  for (const int id : graph_->order()) {
    const PreparedOp& op = graph_->Choose(id);
    if (!op.choice().kernel->has_own_queue()) continue;
    for (const ArgDef& def : op.schema->inputs()) {
      const ArgVars& vars = op.desc.Input(def.name);
      if (!def.traits.variadic || vars.size() < 2) continue;
      std::vector<std::pair<std::string, size_t>> parts;
      size_t bytes = 0;
      for (const std::string& var : vars) {
        const DDim& dims = graph_->dims(var);
        if (graph_->OnlyReader(var) != id || !dims.known()) continue;
        const int writer = graph_->Writer(var);
        if (writer < 0 ||
            graph_->Choose(writer).choice().place != op.choice().place) {
          continue;
        }
        parts.emplace_back(var, bytes);
        bytes += static_cast<size_t>(dims.numel()) * SizeOf(graph_->dtype(var));
        bytes = AlignUp(bytes);
      }
      if (parts.size() < 2) continue;
      Slot all;
      all.var = graph_->NewName(Format("{}.{}", op.desc.type, def.name));
      all.place = op.choice().place;
      all.dtype = DType::kUInt8;
      all.dims = DDim({static_cast<int64_t>(bytes)});
      const int slot = AddSlot(std::move(all));
      for (const auto& [var, offset] : parts) {
        part_of_[var] = {slot, offset};
      }
    }
  }
}

}  // namespace sluice
