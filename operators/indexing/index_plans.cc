#include "sluice/operators/indexing/index_plans.h"

#include <string>

#include "sluice/framework/op/op_schema.h"

namespace sluice {
namespace {

// Returns the stride of axis `axis` of `x`, in slices: those are the elements
// of x's dims before `end`.
int64_t StepOf(const DDim& x, int axis, int end) {
  return x.Product(axis + 1, end);
}

IndexPlan ElementsPlan(const DDim& x, const DDim& index, int64_t given) {
  if (x.rank() == 0) return ElementsPlan({1}, {1}, 0);
  IndexPlan plan;
  const int rank = x.rank();
  const auto axis = static_cast<int>(given < 0 ? given + rank : given);
  plan.count = index.numel();
  plan.slices = x.numel();
  plan.named = 1;
  plan.dims[0] = x[axis];
  plan.dim_steps[0] = StepOf(x, axis, rank);
  plan.rank = rank;
  for (int i = 0; i < rank; ++i) {
    plan.sizes[i] = index[i];
    plan.steps[i] = i == axis ? 0 : StepOf(x, i, rank);
  }
  plan.length = index[axis];
  plan.within = index.Product(axis + 1, rank);
  plan.spread = plan.dim_steps[0];
  return plan;
}

IndexPlan NdPlan(const DDim& x, const DDim& index, int batch_dims) {
  IndexPlan plan;
  const int last = index.rank() - 1;
  plan.named = static_cast<int>(index[last]);
  const int end = batch_dims + plan.named;
  plan.count = index.Product(0, last);
  plan.slices = x.Product(0, end);
  plan.inner = x.Product(end, x.rank());
  for (int k = 0; k < plan.named; ++k) {
    plan.dims[k] = x[batch_dims + k];
    plan.dim_steps[k] = StepOf(x, batch_dims + k, end);
  }
  plan.length = index.Product(batch_dims, last);
  if (batch_dims > 0) {
    plan.rank = 2;
    plan.sizes[0] = index.Product(0, batch_dims);
    plan.steps[0] = x.Product(batch_dims, end);
    plan.sizes[1] = plan.length;
  }
  return plan;
}

}  // namespace

IndexPlan IndexPlanOf(const KernelQuery& query,
                      const DDim& x,
                      const DDim& index) {
  if (query.schema.FindAttr("axis") != nullptr) {
    return ElementsPlan(x, index, query.Attr<int64_t>("axis"));
  }
  const bool batches = query.schema.FindAttr("batch_dims") != nullptr;
  return NdPlan(
      x, index,
      batches ? static_cast<int>(query.Attr<int64_t>("batch_dims")) : 0);
}

ScatterReduction ScatterReductionOf(const KernelQuery& query) {
  const auto& name = query.Attr<std::string>("reduction");
  if (name == "add") return ScatterReduction::kAdd;
  if (name == "mul") return ScatterReduction::kMul;
  if (name == "max") return ScatterReduction::kMax;
  if (name == "min") return ScatterReduction::kMin;
  return ScatterReduction::kNone;
}

bool ScatterReplaces(const KernelQuery& query) {
  return ScatterReductionOf(query) == ScatterReduction::kNone ||
         !query.Attr<bool>("include_self");
}

}  // namespace sluice
