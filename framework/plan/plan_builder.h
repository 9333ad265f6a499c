#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/plan/graph.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/framework/plan/plan_resize.h"

namespace sluice {

// Prepares one plan. It makes the graph and lets passes rewrite it. Then it
// visits the ops once, in order: it resolves the kernel, brings the inputs to
// the kernel's place and emits the instruction. Finally it plans the memory.
// Lives for one call of Build; used by one thread.
class PlanBuilder {
 public:
  PlanBuilder(const Program& program,
              std::vector<FeedSpec> feeds,
              std::vector<std::string> fetches,
              PlaceKey place,
              PlanOptions options,
              std::shared_ptr<ArenaPool> pool = nullptr);

  // Raises what shape functions and the resolver raise, with the op's index and
  // line, NotFound for unknown feeds and fetches, and InvalidArgument for a
  // feed of another dtype or shape than the program's.
  std::shared_ptr<const Plan> Build();

  // Sets the bytes of a slot. Raises OutOfRange if they do not fit 64 bits.
  static void SetBytes(Slot* slot);
  // Gives the values of a plan their memory, by their bytes and lifetimes.
  static void LayOutMemory(Plan* plan);

 private:
  // The latest definition of a variable, and the slots that hold it.
  struct Value {
    DDim dims;
    DType dtype = DType::kFloat32;
    std::vector<int> slots;  // at most one a place; the first is the home
  };

  // plan_builder.cc
  void LoadDevices(std::vector<KernelHint>* hints);
  bool HasOpenFeed() const;
  void MakeGraph();
  std::vector<std::string> RewriteGraph(
      const std::map<int, std::vector<KernelHint>>& op_hints);
  void AddFeeds();
  void AddOp(int op_index);
  void AddReasonsApart(const PreparedOp& op,
                       std::vector<HintAnswer>* answers) const;
  Decision Decide(const PreparedOp& op);
  Value& UseValue(const std::string& var);
  bool IsKept(const std::string& var) const;
  PlaceKey HomeOf(const std::string& var);
  int AddPersistable(const std::string& var, PlaceKey place);
  void BindInputs(const PreparedOp& op, PlannedOp* planned);
  void BindOutputs(const PreparedOp& op, PlannedOp* planned);
  int OutputSlot(const ArgDef& def,
                 const std::string& var,
                 const DDim& dims,
                 DType dtype,
                 const PlannedOp& planned);
  bool LooksInto(const ArgDef& def, const PlannedOp& planned, Slot* slot) const;
  bool WritesOver(const ArgDef& def,
                  const PlannedOp& planned,
                  Slot* slot) const;
  void AddScratch(PlannedOp* planned);
  void AddFetches();
  void NoteUnusedHints();
  void AddHooks();

  // plan_updates.cc
  int ChangedInPlace(const ArgDef& def, const PlannedOp& planned) const;
  bool IsReadAfter(int slot, int op_index) const;
  void AddShadows();

  // plan_own_queues.cc
  void StartEarly();
  void MakeContiguous();

  // plan_lanes.cc
  void AssignLanes();
  int LaneOf(int op_index) const;
  void LeaveLane(const PlannedOp& op);
  void Use(int queue, int slot);
  void ReleaseAll(PlaceKey place);

  // plan_transfers.cc
  int AddSlot(Slot slot);
  int Queue(PlaceKey place, QueueRole role, int lane = 0);
  int AddQueue(const QueueSpec& queue);
  int SlotAt(const std::string& var, PlaceKey place, int op_index);
  int KeptAt(const std::string& var, PlaceKey place);
  int NewCopy(const std::string& var, int from, Slot target, int op_index);
  void EmitCopy(int from, int to, int op_index);
  void Emit(Instruction instruction);
  void EmitWait(int queue);
  void EmitQueueWait(int queue, int other);
  bool KeepWait();
  void Finish(int queue);
  void Touch(int slot);
  void Pin(int slot);
  void Fill(int slot, int queue);
  int Filled(int slot) const;
  void WaitFor(int slot);
  void OrderBehind(int queue, int slot);
  void OrderAfterKernels(int queue);
  void FinishQueues();
  void NoteFeedAliases();

  int Now() const { return static_cast<int>(plan_->instructions_.size()); }

  const Program& program_;
  const Registry& registry_;
  std::unique_ptr<Plan> plan_;
  std::vector<KernelHint> hints_;
  HintsOfOps vetoes_;    // see Graph
  HintsOfOps given_up_;  // vetoes without effect
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<SizeRules> size_rules_;
  PlanChoice choice_;
  std::unordered_map<std::string, Value> values_;
  // The state of a queue while instructions are emitted.
  struct QueueState {
    bool busy = false;  // enqueued and not waited for
    int last = -1;      // last enqueued instruction
    // Host slots that it uses until the host waits for it.
    std::vector<int> pending;
    // Slots at its place, each with the instruction that uses it. Other queues
    // may overwrite one after they have waited for that.
    std::deque<std::pair<int, int>> used;
    std::vector<int> waited_for;  // by queue: what it has waited for
  };
  std::vector<QueueState> queues_;
  // For each op of a device: its lane, which is the index of its queue, and the
  // previous op there; -1 for none.
  struct LanedOp {
    int lane = 0;
    int before = -1;
  };
  std::unordered_map<int, LanedOp> lanes_;
  // By place and lane: the number of ops that are not emitted yet.
  std::map<PlaceKey, std::vector<int>> ops_to_come_;
  std::vector<int> written_by_;  // by slot: the queue that fills it, or -1
  std::vector<int> written_at_;  // by slot: the instruction
  // By variable: the slot that contains it, and its offset there.
  std::unordered_map<std::string, std::pair<int, size_t>> part_of_;
  std::vector<int> pinned_;  // slots that keep their memory until the end
  int waits_ = 0;
};

}  // namespace sluice
