#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/platform/device_context.h"
#include "sluice/platform/ranks/collective_context.h"

namespace sluice::framework {

class RunObserver;

// What one run of a plan needs for itself: arenas, tensors, kernel contexts
// and device queues. Built once, used by one thread at a time, kept by its
// plan for the next run.
class Frame {
 public:
  // Raises ResourceExhausted when an arena does not fit.
  explicit Frame(const Plan& plan);
  ~Frame();

  // Binds feeds, persistables and fresh storage for fetches and shadows.
  void Begin(const Feeds& feeds, Scope* scope);
  // Whether other ranks may wait for what this run has still to do.
  bool awaited() const { return awaited_; }
  // Runs every instruction. Errors carry the op that raised them.
  void Execute();
  void ExecuteObserved(RunObserver& observer);
  // Hands out the fetched tensors and gives the scope its new persistables.
  std::vector<Tensor> Finish(Scope* scope);
  // Waits for all queues, and lets go of everything that was bound.
  void Reset() noexcept;

 private:
  void BindPersistables(Scope& scope);
  // Other ranks have to be in a run of the same.
  void BeginPart(Scope* scope);
  // The plan's, and what the variables that ranks compare start with.
  std::shared_ptr<const platform::Part> PartWithChecksums(
      const Scope& scope) const;
  void AllocateOwn(const std::vector<int>& slots);
  void Step(const Instruction& instruction);
  void Copy(const Instruction& instruction);
  void DeviceCompute(const Instruction& instruction);
  void Wait(platform::DeviceContext& device);
  // "in op 3 (conv2d), created at net.py:12".
  std::string DescribeOp(int op_index) const;
  // Which ops may have lost the device, as `instruction` noticed.
  std::string DescribeLoss(const Instruction& instruction) const;
  // `synchronised`: everything before the instruction was waited for.
  [[noreturn]] void RethrowAt(const Instruction* instruction,
                              bool synchronised);

  const Plan& plan_;
  std::vector<std::unique_ptr<platform::DeviceContext>> devices_;
  // A barrier for each collective that a device has been given.
  platform::CollectiveContext device_collectives_;
  std::vector<Tensor> tensors_;
  std::vector<Tensor*> arguments_;
  std::vector<OpKernelContext> contexts_;
  std::vector<Variable*> shadow_targets_;
  uint64_t step_ = 0;
  bool awaited_ = false;
};

}  // namespace sluice::framework
