#include "sluice/framework/run/tune_program.h"

namespace sluice::framework {

namespace {

// What a run writes replaces tensors of `values` only; memory is shared.
void CopyPersistables(const Program& program,
                      const Scope& scope,
                      Scope* values) {
  for (const VarDesc& var : program.block().vars()) {
    if (!var.persistable) continue;
    const Variable* variable = scope.FindVar(var.name);
    const Tensor* tensor =
        variable == nullptr ? nullptr : variable->Get<Tensor>();
    if (tensor != nullptr) {
      *values->Var(var.name).GetMutable<Tensor>() = *tensor;
    }
  }
}

}  // namespace

TuneResult Tune(Executor& executor,
                const Program& program,
                const Feeds& feeds,
                const Fetches& fetches,
                Scope* scope,
                const TuneOptions& options) {
  const auto plan = executor.Prepare(program, feeds, fetches);
  plan->RequireWhole("tuning");
  plan->RequireAlone("tuning");
  Scope values;
  CopyPersistables(program, scope == nullptr ? executor.scope() : *scope,
                   &values);
  return TunePlans([&] { return executor.Prepare(program, feeds, fetches); },
                   feeds, &values, options);
}

}  // namespace sluice::framework
