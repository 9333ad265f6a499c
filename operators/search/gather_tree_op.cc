#include <algorithm>

#include "sluice/operators/math/indexing/index_text.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

void GatherTreeShape(InferShapeContext& context) {
  const ShapeHandle ids = context.WithRank(context.input("Ids"), 3);
  context.SetOutput("Out", context.Merge(ids, context.input("Parents")));
}

void GatherTreeSchema(OpSchema& op) {
  op.Doc(
      "The sequences that a beam search found. Each token of a step follows "
      "the token of its parent beam in the step before: Out[T - 1] = Ids[T - "
      "1], and from there back to the first step Out[t, b, k] is the token of "
      "the beam that led to Out[t + 1, b, k].");
  op.TypeVar("T", IndexDTypes());
  op.Input("Ids", "T", "[steps, batch, beams]: tokens.");
  op.Input(
      "Parents", "T",
      "[steps, batch, beams]: the beam of the step before, from 0 to "
      "beams - 1; checked when the op runs. Those of step 0 are not used.");
  op.Output("Out", "T", "[steps, batch, beams]: token t of each sequence.");
  op.InferShape(GatherTreeShape);
}

// Parents of step 0 are not looked at.
template <typename T>
void CheckParents(const Tensor& parents) {
  const DDim& dims = parents.dims();
  const int64_t step = dims[1] * dims[2];
  for (int64_t i = step; i < parents.numel(); ++i) {
    const T parent = parents.data<T>()[i];
    SLUICE_ENFORCE(parent >= 0 && parent < dims[2], ErrorCode::kOutOfRange,
                   "gather_tree.parent",
                   "gather_tree: Parents[{}] = {}; expected a beam, from 0 to "
                   "{}",
                   Coordinates(i, dims), parent, dims[2] - 1);
  }
}

template <typename T>
class GatherTreeKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const Tensor& ids = context.Input("Ids");
    const Tensor& parents = context.Input("Parents");
    const DDim& dims = ids.dims();
    Tensor& output = context.AllocateOutput("Out", dims);
    if (output.numel() == 0) return;
    CheckParents<T>(parents);
    const int64_t beams = dims[2];
    const int64_t step = dims[1] * beams;
    const T* const token = ids.data<T>();
    const T* const parent = parents.data<T>();
    T* const out = output.data<T>();
    const int64_t grain = std::max<int64_t>(kGrain / dims[0], 1);
    ParallelFor(step, grain, [=, steps = dims[0]](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) {
        const int64_t first = at / beams * beams;
        int64_t beam = at - first;
        for (int64_t t = steps - 1; t >= 0; --t) {
          const int64_t from = t * step + first + beam;
          out[t * step + at] = token[from];
          beam = static_cast<int64_t>(parent[from]);
        }
      }
    });
  }
};

}  // namespace

REGISTER_OPERATOR(gather_tree, GatherTreeSchema);
REGISTER_OP_CPU_KERNEL(gather_tree, GatherTreeKernel<IndexTypes>);

}  // namespace sluice
