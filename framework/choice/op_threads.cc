#include "sluice/framework/choice/op_threads.h"

#include <algorithm>
#include <utility>

#include "sluice/framework/costs/cost_model.h"
#include "sluice/framework/op/kernel_call.h"
#include "sluice/framework/op/op_schema.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {

namespace {

// Threads sleep 20 us after their last work. Waking them took 16 us on a Xeon
// and 60 us on a virtual machine; between ops that follow at once, 2 us.
constexpr double kWakeSeconds = 16e-6;

class OneThreadKernel final : public OpKernel {
 public:
  explicit OneThreadKernel(std::unique_ptr<OpKernel> kernel)
      : kernel_(std::move(kernel)) {}

  void Compute(OpKernelContext& context) const override {
    const ThreadCountGuard guard(1);
    kernel_->Compute(context);
  }

 private:
  std::unique_ptr<OpKernel> kernel_;
};

}  // namespace

int ThreadsFor(const KernelWork& work,
               const CountCosts& costs,
               DType dtype,
               const MachineFigures& machine,
               int num_threads) {
  if (num_threads == 1) return 1;
  const double one = PredictSeconds(work, costs, dtype, machine, 1);
  const double all = PredictSeconds(work, costs, dtype, machine, num_threads);
  const double wake = std::max(machine.parallel_for, kWakeSeconds);
  return one - all < wake * work.parallel_loops ? 1 : num_threads;
}

int ThreadsFor(const KernelQuery& query,
               const KernelDef& kernel,
               int num_threads) {
  const bool known = kernel.estimate != nullptr || query.schema.elementwise();
  if (num_threads == 1 || !known || query.place.kind != PlaceKind::kCPU) {
    return num_threads;
  }
  const DType dtype = kernel.key.dtype;
  const KernelWork work = WorkOf(kernel, query);
  return ThreadsFor(work,
                    KernelCosts::Active().Of(CostRow(kernel, work), dtype),
                    dtype, ActiveCostModel().Figures(num_threads), num_threads);
}

std::unique_ptr<OpKernel> OnOneThread(std::unique_ptr<OpKernel> kernel) {
  return std::make_unique<OneThreadKernel>(std::move(kernel));
}

}  // namespace sluice
