#include "sluice/laboratory/bisect/plan_slice.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sluice/framework/hints/kernel_hints.h"
#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/program/internal_ops.h"
#include "sluice/laboratory/bisect/plan_side.h"
#include "sluice/platform/error.h"
#include "sluice/platform/parallel_for.h"
#include "sluice/platform/ranks/world.h"

namespace sluice {

std::shared_ptr<const Plan> PrepareWith(const Program& program,
                                        const Feeds& feeds,
                                        const Fetches& fetches,
                                        std::string_view hints,
                                        PlaceKey place) {
  if (World::Get().size() > 1) {
    // Checked before hints, which may choose kernels for one rank only.
    Executor(place)
        .Prepare(program, feeds, fetches)
        ->RequireAlone("a comparison");
  }
  const KernelHintGuard guard(hints);
  auto plan = Executor(place).Prepare(program, feeds, fetches);
  plan->RequireNoBlocks("a comparison");
  return plan;
}

PlanSlice::PlanSlice(const PlanPair& pair,
                     Side side,
                     size_t begin,
                     size_t end,
                     const GoldenValues& golden)
    : pair_(pair), golden_(golden), side_(side) {
  std::vector<std::pair<int, size_t>> ops;
  for (size_t unit = begin; unit < end; ++unit) {
    const PlanUnit& each = pair.units()[unit];
    for (const int op : side == Side::kA ? each.a : each.b) {
      ops.emplace_back(op, unit);
    }
  }
  // Units are in an order that suits both plans. Within the slice, ops keep the
  // order of their own plan.
  std::sort(ops.begin(), ops.end());
  const InternalOpsGuard internal_ops;
  for (const auto& [op, unit] : ops) {
    AddOp(op, unit);
  }
  if (empty()) return;
  AddFetches(end);
  Executor executor(whole().place(), {.passes = false});
  const ThreadCountGuard threads(whole().num_threads());
  plan_ = executor.Prepare(program_, feeds_,
                           Fetches(fetches_.begin(), fetches_.end()));
}

const Plan& PlanSlice::whole() const {
  return side_ == Side::kA ? pair_.a() : pair_.b();
}

const ProgramValue& PlanSlice::WholeValue(const std::string& var) const {
  return side_ == Side::kA ? pair_.ValueInA(var) : pair_.ValueInB(var);
}

const ProgramValue& PlanSlice::ValueOf(const std::string& var) const {
  return WholeValue(whole_names_.at(var));
}

void PlanSlice::AddOp(int op, size_t unit) {
  const PlannedOp& planned = whole().ops()[op];
  const Decision& decision = whole().decisions()[op];
  OpDesc desc = whole().op_descs()[planned.op_index];
  if (Registry::Global().Schema(desc.type).random()) {
    for (const auto& [argument, vars] : desc.outputs) {
      for (const std::string& var : vars) {
        drawn_[WholeValue(var).var] = unit;
      }
    }
    return;
  }
  ops_.push_back(op);
  unit_of_op_.push_back(unit);
  const std::vector<bool> shape_only = ReadForShapeOnly(desc);
  size_t flat = 0;
  for (auto& [argument, vars] : desc.inputs) {
    for (std::string& var : vars) {
      var = InputName(op, flat, shape_only[flat], var);
      ++flat;
    }
  }
  for (auto& [argument, vars] : desc.outputs) {
    for (std::string& var : vars) {
      var = OutputName(var);
    }
  }
  desc.hint = Format("require place={}, library={}, variant={}, layout={}",
                     decision.place, decision.kernel->key.library,
                     decision.kernel->variant, decision.list->layout);
  program_.AppendOp(std::move(desc));
}

const Tensor* PlanSlice::GoldenInput(const ProgramValue& value) const {
  const auto drawn = drawn_.find(value.var);
  const size_t unit = drawn == drawn_.end()
                          ? unit_of_op_.back()
                          : std::max(drawn->second + 1, unit_of_op_.back());
  return side_ == Side::kA ? golden_.Before(unit, value.var)
                           : golden_.BeforeInB(unit, value.var);
}

// Values that no op in the slice has written yet are fed. Constant parameters
// stay parameters, since kernels may prepare for their values.
std::string PlanSlice::InputName(int op,
                                 size_t flat,
                                 bool shape_only,
                                 const std::string& var) {
  const auto known = names_.find(var);
  if (known != names_.end()) return known->second;
  const ProgramValue& value = WholeValue(var);
  const PlannedOp& planned = whole().ops()[op];
  const Slot& slot = whole().slots()[planned.inputs[flat]];
  const Tensor* golden = GoldenInput(value);
  Tensor zeros;
  if (golden == nullptr && (shape_only || slot.kind == SlotKind::kShape)) {
    zeros.Resize(slot.dims).mutable_data(slot.dtype, CPUPlace());
    std::memset(zeros.raw_data(), 0, zeros.bytes());
    golden = &zeros;
  }
  SLUICE_ENFORCE(golden != nullptr, ErrorCode::kFailedPrecondition,
                 "laboratory.golden_input",
                 "{}: only B's plan computes its input {}, and it cannot be "
                 "computed from values that both plans have, so that the op "
                 "cannot run on A's values. Leave the pass that makes the "
                 "plans differ here out of both (exclude pass=NAME), or let "
                 "both have it",
                 whole().decisions()[op].op, var);
  const bool turn = value.channels_last && golden != &zeros;
  const Tensor tensor = turn ? ChannelsLast(*golden) : *golden;
  const auto& constant = planned.input_constant;
  if (flat < constant.size() && constant[flat] != 0) {
    program_.Persistable(var, tensor.dtype(), tensor.dims());
    *scope_.Var(var).GetMutable<Tensor>() = tensor;
  } else {
    program_.Data(var, tensor.dtype(), tensor.dims());
    feeds_.emplace_back(var, tensor);
  }
  whole_names_[var] = var;
  return names_[var] = var;
}

// An in-place update would overwrite a feed.
std::string PlanSlice::OutputName(const std::string& var) {
  std::string name = var;
  while (program_.block().FindVar(name) != nullptr) {
    name += "@new";
  }
  whole_names_[name] = var;
  written_.insert(var);
  return names_[var] = name;
}

// Fetches the values that ops after the slice read.
void PlanSlice::AddFetches(size_t end) {
  std::set<std::string> read;
  for (size_t unit = end; unit < pair_.units().size(); ++unit) {
    const PlanUnit& each = pair_.units()[unit];
    for (const int op : side_ == Side::kA ? each.a : each.b) {
      const OpDesc& desc = whole().op_descs()[whole().ops()[op].op_index];
      for (const auto& [argument, vars] : desc.inputs) {
        read.insert(vars.begin(), vars.end());
      }
    }
  }
  read.insert(whole().fetch_names().begin(), whole().fetch_names().end());
  for (const Slot& slot : whole().slots()) {
    if (slot.kind == SlotKind::kShadow) read.insert(slot.var);
  }
  for (const std::string& var : written_) {
    if (read.count(var) > 0) fetches_.push_back(names_.at(var));
  }
}

}  // namespace sluice
