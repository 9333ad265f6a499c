#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sluice/framework/op_check.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/framework/registry.h"

namespace sluice::framework {

// Prepares one plan: walks the ops once, in order, and for each infers shapes,
// resolves the kernel, brings its inputs to the kernel's place and emits the
// instruction; then lays out the memory. Lives for one call of Build; used by
// one thread.
class PlanBuilder {
 public:
  PlanBuilder(const Program& program,
              std::vector<FeedSpec> feeds,
              std::vector<std::string> fetches,
              PlaceKey place,
              PlanOptions options);

  // Raises what shape functions and the resolver raise, with the op's index
  // and line, NotFound for unknown feeds and fetches, and InvalidArgument for
  // a feed of another dtype or shape than the program says.
  std::shared_ptr<const Plan> Build();

 private:
  // The newest definition of a variable, and the slots that hold it.
  struct Value {
    DDim dims;
    DType dtype = DType::kFloat32;
    std::vector<int> slots;  // at most one a place; the first is the home
  };

  // plan_builder.cc
  void LoadDevices(std::vector<KernelHint>* hints);
  void CheckFeeds();
  void CheckFetches();
  void FindNeededOps();
  void AddFeeds();
  void AddOp(int op_index);
  Value& UseValue(const std::string& var);
  void AddPersistable(const VarDesc& var);
  Decision Decide(const OpDesc& op,
                  const OpSchema& schema,
                  const BoundTypes& types,
                  int op_index,
                  ResolveRequest* request);
  void BindInputs(const OpSchema& schema, PlannedOp* planned);
  void BindOutputs(const OpSchema& schema,
                   const ResolveRequest& request,
                   PlannedOp* planned);
  int OutputSlot(const ArgDef& def,
                 const std::string& var,
                 const DDim& dims,
                 DType dtype,
                 const PlannedOp& planned);
  int AliasedSlot(const ArgDef& def,
                  const DDim& dims,
                  DType dtype,
                  const PlannedOp& planned) const;
  void AddKernel(const Decision& decision,
                 const ResolveRequest& request,
                 PlannedOp* planned);
  void FillArguments(const OpSchema& schema,
                     const ResolveRequest& request,
                     PlannedOp* planned);
  void AddFetches();
  void AddShadows();
  void NoteUnusedHints();

  // plan_transfers.cc
  int AddSlot(Slot slot);
  int DeviceIndex(PlaceKey place);
  int SlotAt(const std::string& var, PlaceKey place, int op_index);
  int NewCopy(const std::string& var, int from, Slot target, int op_index);
  void EmitCopy(int from, int to, int op_index);
  void Emit(Instruction instruction);
  void EmitWait(int device);
  void Touch(int slot);
  void WaitFor(int slot);
  void FinishQueues();
  void LayOutMemory();

  int Now() const { return static_cast<int>(plan_->instructions_.size()); }

  const Program& program_;
  const BlockDesc& block_;
  const Registry& registry_;
  std::unique_ptr<Plan> plan_;
  std::vector<KernelHint> hints_;
  std::vector<std::vector<KernelHint>> op_hints_;  // by op: its own
  std::set<std::string> fetched_;
  std::vector<bool> needed_;                    // by op
  std::map<std::string, int> last_definition_;  // by variable: op
  std::map<std::string, Value> values_;
  std::vector<int> written_by_;  // by slot: device whose queue fills it
  std::vector<std::vector<int>> pending_;  // by device: host slots in use
  std::vector<bool> busy_;  // by device: enqueued and not waited for
  int waits_ = 0;
};

}  // namespace sluice::framework
