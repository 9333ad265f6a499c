#include "sluice/operators/collective/rank_hooks.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/files/checksum.h"
#include "sluice/framework/op/op_registry.h"
#include "sluice/framework/plan/graph.h"
#include "sluice/framework/values/scope.h"
#include "sluice/platform/error.h"
#include "sluice/platform/ranks/collective_context.h"
#include "sluice/platform/ranks/world.h"

namespace sluice {
namespace {

thread_local bool t_in_joint_run = false;

bool IsCollective(const OpDesc& op) {
  const auto kernels = Registry::Global().Kernels(op.type);
  return std::any_of(
      kernels.begin(), kernels.end(),
      [](const KernelDef* kernel) { return kernel->has_own_queue(); });
}

// All ranks must agree on this before a run of one plan: the program, and the
// data that its collective ops exchange. Other sizes may differ.
struct Agreement {
  Part part;
  // Persistables whose initial values are compared, with the names' digest.
  std::vector<std::string> compared_vars;
  uint64_t compared_digest = 0;
  std::map<int, std::string>
      labels;               // of collective ops by index: for messages
  std::set<int> on_device;  // those that the host does not wait for
};

// Returns the part with checksums of the initial values.
std::shared_ptr<const Part> WithChecksums(const Agreement& agreement,
                                          const Scope& scope) {
  auto part = std::make_shared<Part>(agreement.part);
  for (const std::string& name : agreement.compared_vars) {
    const Variable* variable = scope.FindVar(name);
    const Tensor* tensor =
        variable == nullptr ? nullptr : variable->Get<Tensor>();
    if (tensor == nullptr || !tensor->allocated()) continue;
    const Tensor value = variable->TensorAt(CPUPlace());
    part->Add(Format("{} ({} {}) starts with values of checksum {:016x}", name,
                     value.dtype(), value.dims(),
                     Checksum(value.raw_data(), value.bytes())));
  }
  return part;
}

class RankFrameHooks final : public FrameHooks {
 public:
  explicit RankFrameHooks(std::shared_ptr<const Agreement> agreement)
      : agreement_(std::move(agreement)) {}

  void BeforeRun(Scope* scope) override {
    const uint64_t digest = agreement_->compared_digest;
    const bool compares = !agreement_->compared_vars.empty() &&
                          scope != nullptr && !scope->marked(digest);
    World::Get().BeginPart(
        compares ? WithChecksums(*agreement_, *scope)
                 : std::shared_ptr<const Part>(agreement_, &agreement_->part));
    begun_ = true;
    if (compares) scope->Mark(digest);
  }

  void BeforeExchange(const Instruction& instruction) override {
    const auto label = agreement_->labels.find(instruction.op_index);
    if (label != agreement_->labels.end()) {
      World::Get().SetLabel(label->second);
    }
  }

  void AfterExchange(const Instruction& instruction) override {
    if (agreement_->on_device.count(instruction.op_index) > 0) {
      enqueued_.Start({});
    }
  }

  // Started collectives progress only in calls of World.
  void AfterInstruction(const Instruction& /*instruction*/) override {
    World::Get().Advance();
  }

  // A device cannot receive other ranks' errors. So before the host waits for
  // it, it waits until all ranks have enqueued the same collectives.
  void BeforeWait() override { enqueued_.Wait(); }

  // Other ranks wait for collectives that will not start.
  void OnFailure() noexcept override {
    if (!begun_) return;
    try {
      throw;
    } catch (const std::exception& error) {
      World::Get().Fail(error.what());
    } catch (...) {
      World::Get().Fail("an exception");
    }
    AbortDeviceCollectives();
  }

  void AfterRun() noexcept override {
    begun_ = false;
    try {
      enqueued_.Wait();
    } catch (...) {
      // An earlier error is already being raised.
    }
  }

 private:
  std::shared_ptr<const Agreement> agreement_;
  bool begun_ = false;  // other ranks may wait for the rest of this run
  // A barrier for each collective that was enqueued on a device.
  CollectiveContext enqueued_;
};

class RankPlanHooks final : public PlanHooks {
 public:
  explicit RankPlanHooks(std::shared_ptr<const Agreement> agreement)
      : agreement_(std::move(agreement)) {}

  std::unique_ptr<FrameHooks> NewFrame() const override {
    return std::make_unique<RankFrameHooks>(agreement_);
  }

  void RequireAlone(std::string_view what) const override {
    Raise(ErrorCode::kUnimplemented, "plan.collective",
          "{} runs a program as often as it needs, and other ranks "
          "would not: do it with one rank; what is measured is used "
          "by several, too",
          what);
  }

 private:
  std::shared_ptr<const Agreement> agreement_;
};

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

void AddExchange(int id,
                 const PreparedOp& op,
                 Agreement* agreement,
                 std::vector<std::string>* notes) {
  const KernelDef& kernel = *op.choice().kernel;
  const std::string name = Format("op {} ({})", id, op.desc.type);
  const std::string created = DescribeLocation(op.desc.location);
  agreement->labels[id] =
      Format("{}{}{}", name, created.empty() ? "" : ", ", created);
  const bool on_device = op.choice().place.kind != PlaceKind::kCPU;
  if (on_device) agreement->on_device.insert(id);
  if (kernel.exchanges == Exchanges::kSums) {
    agreement->part.Add(Format("{} exchanges sums{}", name, ChannelsOf(op)),
                        created);
    return;
  }
  std::string exchanged;
  size_t bytes = 0;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    exchanged += Format(" {} {}", op.input_dtypes[i], op.inputs[i]);
    bytes +=
        static_cast<size_t>(op.inputs[i].numel()) * SizeOf(op.input_dtypes[i]);
  }
  // Without a device, the library is MPI.
  agreement->part.Add(
      Format("{} exchanges{}{}{}", name, exchanged, on_device ? " by " : "",
             on_device ? kernel.key.library : ""),
      created);
  notes->push_back(Format(
      "{} exchanges {} bytes with other ranks, while the ops after it run",
      name, bytes));
}

class RankHooks final : public RunHooks {
 public:
  std::string_view name() const override { return "ranks"; }

  std::shared_ptr<const PlanHooks> Prepared(
      const Program& program,
      const Graph& graph,
      std::vector<std::string>* notes) override {
    const bool alone = World::Get().size() == 1;
    if (alone && HasCollectives(program)) {
      World::RequireJoined("a program with collective ops");
    }
    const auto& order = graph.order();
    const auto is_collective = [&](int id) {
      return graph.op(id).choice().kernel->has_own_queue();
    };
    if (alone || std::none_of(order.begin(), order.end(), is_collective)) {
      return nullptr;
    }
    const auto agreement = std::make_shared<Agreement>();
    for (const BlockDesc& block : program.blocks()) {
      for (size_t i = 0; i < block.ops.size(); ++i) {
        agreement->part.Add(TextOf(block, i),
                            DescribeLocation(block.ops[i].location));
      }
    }
    for (const int id : order) {
      if (is_collective(id)) {
        AddExchange(id, graph.op(id), agreement.get(), notes);
      }
    }
    // Includes variables that only blocks read.
    Part names;
    for (const VarDesc& var : program.block().vars()) {
      if (!var.replicated) continue;
      agreement->compared_vars.push_back(var.name);
      names.Add(var.name);
    }
    agreement->compared_digest = names.Digest();
    return std::make_shared<RankPlanHooks>(agreement);
  }

  std::unique_ptr<ProgramRun> Begin(const Program& program) override {
    if (World::Get().size() == 1) return nullptr;
    return std::make_unique<JointRun>(program);
  }

  // Every rank draws different random numbers.
  uint64_t RandomStep(const Plan& plan, uint64_t step) override {
    constexpr int kRankBits = 40;
    if (!t_in_joint_run && plan.hooks().empty()) return step;
    return step + (static_cast<uint64_t>(World::Get().rank()) << kRankBits);
  }
};

void AddRankHooks(Registry& /*registry*/) {
  static RankHooks hooks;
  AddRunHooks(&hooks);
}

}  // namespace

bool HasCollectives(const Program& program) {
  struct Known {
    uint64_t uid = 0;
    uint64_t version = 0;
    bool is_known = false;
    bool has = false;
  };
  constexpr size_t kPrograms = 16;
  thread_local std::array<Known, kPrograms> t_known;
  Known& known = t_known[program.uid() % kPrograms];
  if (known.is_known && known.uid == program.uid() &&
      known.version == program.version()) {
    return known.has;
  }
  const bool has = std::any_of(
      program.blocks().begin(), program.blocks().end(),
      [](const BlockDesc& block) {
        return std::any_of(block.ops.begin(), block.ops.end(), IsCollective);
      });
  known = {program.uid(), program.version(), true, has};
  return has;
}

JointRun::JointRun(const Program& program)
    : joint_(World::Get().size() > 1 && !t_in_joint_run &&
             HasCollectives(program)),
      outer_(t_in_joint_run) {
  if (!joint_) return;
  World::Get().BeginRun();
  t_in_joint_run = true;
}

JointRun::~JointRun() {
  t_in_joint_run = outer_;
}

void JointRun::Failed(std::string_view why) noexcept {
  if (joint_) World::Get().NoteFailedRun(why);
}

REGISTER_TABLE(rank_hooks, AddRankHooks);

}  // namespace sluice
