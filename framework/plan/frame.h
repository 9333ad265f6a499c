#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/op/row_log.h"
#include "sluice/framework/plan/arena_pool.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/platform/device_context.h"

namespace sluice {

class FrameHooks;
class RunObserver;

// The data of one run of a plan: arenas, tensors, kernel contexts and device
// queues. Built once, used by one thread at a time, and kept by its plan for
// the next run.
class Frame {
 public:
  // `block` has SharedBytes() of the plan; null if that is 0. Raises
  // ResourceExhausted when an arena does not fit.
  Frame(const Plan& plan, ArenaPool::Block* block);
  ~Frame();

  ArenaPool::Block* block() const { return block_; }
  // Binds feeds, persistables and fresh storage for fetches and shadows.
  void Begin(const Feeds& feeds, Scope* scope);
  // For a block, whose plan runs inside of a kernel of another plan (BlockRun):
  // binds persistables for any number of calls of RunInside, which reads feeds
  // and writes to the storage of the results.
  void BeginInside(const RunState& run);
  Tensor& feed(size_t index) { return tensors_[plan_.feed_slots_[index]]; }
  Tensor& result(size_t index) { return tensors_[plan_.fetch_slots_[index]]; }
  void RunInside();
  // Called in a handler: takes back what was changed in the scope and tells the
  // plan's hooks.
  void NoteFailure() noexcept;
  // Runs every instruction. Errors name the op that raised them.
  void Execute();
  void ExecuteObserved(RunObserver& observer);
  // Returns the fetched tensors and stores the new persistables in the scope.
  std::vector<Tensor> Finish(Scope* scope);
  // Waits for all queues, and releases everything that was bound.
  void Reset() noexcept;

 private:
  void BindSlots();
  void MakeContexts();
  void BindAliases();
  void TakeStep();
  void FindVariables();
  void BindPersistables();
  void BindShadow(int index, int former);
  void BindShadows();
  void BindCommit(bool in_place);
  bool IsInPlace(int shadow) const noexcept;
  void ReserveResults();
  void RunCommit();
  // Calls the same function of the hooks of all libraries.
  template <typename Call>
  void ForHooks(Call call);
  void AllocateOwn(int index);
  bool MayReuse(int shadow) const noexcept;
  void Step(const Instruction& instruction);
  void Copy(const Instruction& instruction);
  void DeviceCompute(const Instruction& instruction);
  void Wait(DeviceContext& device);
  // Returns "in op 3 (conv2d), created at net.py:12".
  std::string DescribeOp(int op_index) const;
  // Names the ops that may have lost the device when `instruction` failed.
  std::string DescribeLoss(const Instruction& instruction) const;
  // `synchronised`: all earlier instructions were waited for.
  [[noreturn]] void RethrowAt(const Instruction* instruction,
                              bool synchronised);

  const Plan& plan_;
  ArenaPool::Block* block_;
  std::vector<std::unique_ptr<DeviceContext>> devices_;
  std::vector<Tensor> tensors_;
  std::vector<Tensor*> arguments_;
  std::vector<OpKernelContext> contexts_;
  // The variables of persistable and shadow slots, as long as the scope has
  // them (Scope::layout). Null: there is none.
  std::pair<uint64_t, uint64_t> found_in_;
  std::vector<const Variable*> persistables_;
  std::vector<Variable*> shadow_targets_;
  std::vector<Tensor> results_;  // empty between runs
  RunState run_;
  RowLog changed_;
  std::vector<std::unique_ptr<FrameHooks>> hooks_;  // by Plan::hooks()
};

}  // namespace sluice
