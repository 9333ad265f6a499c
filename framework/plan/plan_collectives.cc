// PlanBuilder's functions for ops that exchange data with other ranks.
#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/plan/plan_builder.h"
#include "sluice/framework/program/collective_ops.h"
#include "sluice/memory/size_class.h"
#include "sluice/platform/error.h"
#include "sluice/platform/ranks/world.h"

namespace sluice::framework {

using platform::Format;

namespace {

// The op as all ranks must have it; random seeds may differ.
std::string TextOf(const BlockDesc& block, size_t index) {
  OpDesc op = block.ops[index];
  op.attributes.erase("seed");
  const std::string inside =
      block.index == 0 ? "" : Format("block {}, ", block.index);
  return Format("{}op {}: {}", inside, index, ToString(op));
}

// Formats the inputs of one dim: ranks may differ in batch, not in channels.
std::string ChannelsOf(const PreparedOp& op) {
  std::string channels;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i].rank() != 1) continue;
    channels += Format(" {} {}", op.input_dtypes[i], op.inputs[i]);
  }
  return channels;
}

}  // namespace

// Moves collective ops to right after their inputs are computed, so that later
// ops run concurrently. No op on the way may touch their values. The order
// depends on the graph alone, and so is the same on all ranks.
void PlanBuilder::StartEarly() {
  std::map<int, int> moved;  // the last op moved after each op
  const std::vector<int> ids = graph_->order();
  for (const int id : ids) {
    const PreparedOp& op = graph_->Choose(id);
    if (!op.choice().kernel->collective()) continue;
    int behind = -1;
    bool free = true;
    for (const auto& [argument, vars] : op.desc.inputs) {
      for (const std::string& var : vars) {
        const int writer = graph_->Writer(var);
        free &= writer >= 0 && graph_->IsInternal(var);
        if (!free) break;
        if (behind < 0 || graph_->Precedes(behind, writer)) behind = writer;
      }
    }
    for (const auto& [argument, vars] : op.desc.outputs) {
      for (const std::string& var : vars) {
        free &= graph_->Writer(var) == id && !graph_->IsPersistable(var);
      }
    }
    if (!free || behind < 0) continue;
    const auto [last, first] = moved.try_emplace(behind, id);
    graph_->MoveBehind(first ? behind : last->second, id);
    last->second = id;
  }
}

// Makes the inputs of a collective op contiguous, so that they are exchanged as
// a whole: if ops of this graph compute them, and no other op reads them.
void PlanBuilder::LaySideBySide() {
  for (const int id : graph_->order()) {
    const PreparedOp& op = graph_->Choose(id);
    if (!op.choice().kernel->collective()) continue;
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
        bytes = memory::RoundToAlignment(bytes);
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

// Builds the part that all ranks must agree on: the program, and the data that
// its collective ops exchange. Other sizes may differ between ranks.
void PlanBuilder::NoteCollectives() {
  const auto kernel = [this](int id) { return graph_->op(id).choice().kernel; };
  const auto& order = graph_->order();
  const bool any = std::any_of(order.begin(), order.end(), [&](int id) {
    return kernel(id)->collective();
  });
  const bool alone = platform::World::Get().size() == 1;
  if (alone && HasCollectives(program_)) {
    platform::World::RequireJoined("a program with collective ops");
  }
  if (!any || alone) return;
  const auto part = std::make_shared<platform::Part>();
  for (const BlockDesc& block : program_.blocks()) {
    for (size_t i = 0; i < block.ops.size(); ++i) {
      part->Add(TextOf(block, i), DescribeLocation(block.ops[i].location));
    }
  }
  for (const int id : order) {
    const PreparedOp& op = graph_->op(id);
    if (!kernel(id)->collective()) continue;
    const std::string name = Format("op {} ({})", id, op.desc.type);
    const std::string created = DescribeLocation(op.desc.location);
    plan_->collective_ops_[id] =
        Format("{}{}{}", name, created.empty() ? "" : ", ", created);
    if (kernel(id)->exchanges == Exchanges::kSums) {
      part->Add(Format("{} exchanges sums{}", name, ChannelsOf(op)), created);
      continue;
    }
    std::string exchanged;
    size_t bytes = 0;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      exchanged += Format(" {} {}", op.input_dtypes[i], op.inputs[i]);
      bytes += static_cast<size_t>(op.inputs[i].numel()) *
               SizeOf(op.input_dtypes[i]);
    }
    // Without a device, the library is MPI.
    const bool on_device = op.choice().place.kind != platform::PlaceKind::kCPU;
    part->Add(
        Format("{} exchanges{}{}{}", name, exchanged, on_device ? " by " : "",
               on_device ? kernel(id)->key.library : ""),
        created);
    plan_->notes_.push_back(Format(
        "{} exchanges {} bytes with other ranks, while the ops after it run",
        name, bytes));
  }
  plan_->part_ = part;
  // Includes variables that only blocks read.
  platform::Part names;
  for (const VarDesc& var : program_.block().vars()) {
    if (!var.same_on_ranks) continue;
    plan_->compared_vars_.push_back(var.name);
    names.Add(var.name);
  }
  plan_->compared_digest_ = names.Digest();
}

}  // namespace sluice::framework
