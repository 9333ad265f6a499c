// The part of PlanBuilder for ops that other ranks take part in.
#include <algorithm>
#include <map>

#include "sluice/framework/plan/plan_builder.h"
#include "sluice/platform/error.h"
#include "sluice/platform/ranks/world.h"

namespace sluice::framework {

using platform::Format;

namespace {

constexpr size_t kAlignment = 64;

// FNV-1a: the same on every rank.
class Digest {
 public:
  void Add(std::string_view text) {
    for (const char c : text) {
      value_ = (value_ ^ static_cast<uint8_t>(c)) * 0x100000001b3;
    }
    value_ *= 0x100000001b3;
  }
  uint64_t value() const { return value_ == 0 ? 1 : value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace

// Collective ops run as soon as what they read is there, so that the ops after
// them run beside them. Only those move whose values no other op touches on the
// way. Their order depends on the graph alone, and so is the same on all ranks.
void PlanBuilder::StartEarly() {
  std::map<int, int> moved;  // the last one that was moved behind an op
  const std::vector<int> ids = graph_->order();
  for (const int id : ids) {
    const PreparedOp& op = graph_->Choose(id);
    if (!op.choice().kernel->collective) continue;
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

// What one collective op reads is contiguous, so that it can be moved as a
// whole: where other ops of this graph make it, and nobody else reads it.
void PlanBuilder::LaySideBySide() {
  for (const int id : graph_->order()) {
    const PreparedOp& op = graph_->Choose(id);
    if (!op.choice().kernel->collective) continue;
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
        bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
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

// What several ranks must agree on: the ops of the program, and what the
// collective ones exchange. How large other values are is each rank's own
// affair.
void PlanBuilder::NoteCollectives() {
  const auto kernel = [this](int id) { return graph_->op(id).choice().kernel; };
  const auto& order = graph_->order();
  const bool any = std::any_of(order.begin(), order.end(),
                               [&](int id) { return kernel(id)->collective; });
  if (!any || platform::World::Get().size() == 1) return;
  std::string text;
  const auto& ops = program_.block().ops;
  for (size_t i = 0; i < ops.size(); ++i) {
    text += Format("op {} ({})\n", i, ops[i].type);
  }
  for (const int id : order) {
    const PreparedOp& op = graph_->op(id);
    if (!kernel(id)->collective) continue;
    std::string details;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      details += Format(" {} {}", op.input_dtypes[i], op.inputs[i]);
    }
    for (const auto& [attribute, value] : op.desc.attributes) {
      details += Format(" {}={}", attribute, ToString(value));
    }
    // Without a device it is MPI.
    if (op.choice().place.kind != platform::PlaceKind::kCPU) {
      details += Format(" by {}", kernel(id)->key.library);
    }
    text += Format("op {} ({}{})\n", id, op.desc.type, details);
    const std::string created = DescribeLocation(op.desc.location);
    plan_->collective_ops_[id] = Format("op {} ({}){}{}", id, op.desc.type,
                                        created.empty() ? "" : ", ", created);
    size_t bytes = 0;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      bytes += static_cast<size_t>(op.inputs[i].numel()) *
               SizeOf(op.input_dtypes[i]);
    }
    plan_->notes_.push_back(Format(
        "op {} ({}) exchanges {} bytes with other ranks, while the ops after "
        "it run",
        id, op.desc.type, bytes));
  }
  Digest digest;
  digest.Add(text);
  plan_->collectives_ = digest.value();
  plan_->collectives_text_ = std::move(text);
}

}  // namespace sluice::framework
