#include <algorithm>
#include <limits>

#include "sluice/operators/math/search/order_key.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// A vector serves values of any shape. Sequences of more dims are rows, each
// for the values of the same row.
void SearchsortedShape(InferShapeContext& context) {
  const ShapeHandle sequence =
      context.WithRankAtLeast(context.input("SortedSequence"), 1);
  ShapeHandle out = context.input("Values");
  if (sequence.dims.rank_known()) {
    const int last = sequence.rank() - 1;
    context.Require(
        context.Attr<DType>("dtype") != DType::kInt32 ||
            sequence.dims[last] <= std::numeric_limits<int32_t>::max(),
        "searchsorted.dtype",
        "the places in input SortedSequence {} do not fit int32; "
        "attribute dtype must be int64",
        sequence.dims);
    if (last > 0) out = context.WithRank(out, sequence.rank());
    for (int axis = 0; axis < last; ++axis) {
      out.dims[axis] =
          context.Merge(context.Dim(out, axis), context.Dim(sequence, axis));
    }
  }
  context.SetOutput("Out", out);
}

void SearchsortedSchema(OpSchema& op) {
  op.Doc(
      "Where each value belongs in a sorted sequence, as np.searchsorted: how "
      "many elements are less than it or, with `right`, at most equal to it. "
      "NaN comes after every number and equals NaN; 0 and -0 are equal.");
  op.TypeVar("T", NumericDTypes());
  op.TypeVarFromAttr("I", "dtype", IndexDTypes());
  op.Input("SortedSequence", "T",
           "[n], or [..., n]: rows that ascend. This is not checked; the "
           "places in other rows have no meaning, but are from 0 to n.");
  op.Input("Values", "T",
           "Of any shape; for rows [..., m], with the dims of SortedSequence "
           "but the last.");
  op.Output("Out", "I", "In the shape of Values: from 0 to n.");
  op.Attr<bool>("right", "The last place instead of the first.").Default(false);
  op.Attr<DType>("dtype", "The dtype of Out.").Default(DType::kInt64);
  op.InferShape(SearchsortedShape);
}

template <typename T>
class SearchsortedKernel final : public OpKernel {
 public:
  explicit SearchsortedKernel(const OpKernelConstruction& construction)
      : right_(construction.Attr<bool>("right")) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& values = context.Input("Values");
    Tensor& out = context.AllocateOutput("Out", values.dims());
    if (out.numel() == 0) return;
    VisitIndex(out.dtype(), [&]<typename Index>() {
      Search(context.Input("SortedSequence"), values, out.data<Index>());
    });
  }

 private:
  template <typename Index>
  void Search(const Tensor& sequence, const Tensor& values, Index* out) const {
    constexpr int64_t kValues = 2048;  // a value takes some ten comparisons
    const int64_t size = sequence.dims().at(-1);
    const int64_t columns =
        sequence.dims().rank() == 1 ? values.numel() : values.dims().at(-1);
    const auto is_less = [](T a, T b) { return OrderKey(a) < OrderKey(b); };
    const T* first = sequence.data<T>();
    const T* value = values.data<T>();
    ParallelFor(values.numel(), kValues, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* row = first + i / columns * size;
        const T* place =
            right_ ? std::upper_bound(row, row + size, value[i], is_less)
                   : std::lower_bound(row, row + size, value[i], is_less);
        out[i] = static_cast<Index>(place - row);
      }
    });
  }

  bool right_;
};

}  // namespace

REGISTER_OPERATOR(searchsorted, SearchsortedSchema);
REGISTER_OP_CPU_KERNEL(searchsorted, SearchsortedKernel<NumberTypes>);

}  // namespace sluice
