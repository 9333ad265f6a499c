#include "sluice/operators/registration.h"

// batch_norm over the batches of all ranks, like Fluid's op of that name.
namespace sluice {
namespace {

void AddSyncBatchNorm(Registry& registry) {
  registry.AddOperator("sync_batch_norm", [&](OpSchema& op) {
    const OpSchema& base = registry.Schema("batch_norm");
    op.Extends(base)
        .Doc(
            "batch_norm, whose mean and variance are those of the batches of "
            "all ranks together. A program cloned for testing has batch_norm.")
        .ForTest("batch_norm")
        .Gradient(base.gradient_fn());
  });
  registry.AddOperator("sync_batch_norm_grad", [&](OpSchema& op) {
    op.Extends(registry.Schema("batch_norm_grad"))
        .Doc(
            "The gradients of sync_batch_norm. X@GRAD depends on the gradients "
            "that all ranks have; Scale@GRAD and Bias@GRAD are this rank's "
            "part.");
  });
}

}  // namespace

REGISTER_TABLE(sync_batch_norm, AddSyncBatchNorm);

}  // namespace sluice
