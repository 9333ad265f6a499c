#include <algorithm>
#include <bit>

#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void PairwiseSumShape(InferShapeContext& context) {
  const DDim x = context.WithRankAtLeast(context.input("X"), 1);
  if (!x.rank_known()) return context.SetOutput("Out", DDim::UnknownRank());
  DDim out;
  for (int axis = 1; axis < x.rank(); ++axis) {
    out.InsertDim(axis - 1, x[axis]);
  }
  context.SetOutput("Out", out);
}

void PairwiseSumSchema(OpSchema& op) {
  op.Doc(
      "The sum of X over dim 0: pairs of neighbours first, then pairs of these "
      "sums, and so on. Where n is a power of 2, an ordered c_allreduce_sum of "
      "the sums that ranks have of equal parts gives the same bits as the sum "
      "of all parts on one rank.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64, DType::kFloat16,
                   DType::kBFloat16});
  op.Input("X", "T", "[n, ...].");
  op.Output("Out", "T", "[...]; 0 where n is 0.");
  op.InferShape(PairwiseSumShape);
  op.NoGradient("it adds up gradients that exist already");
}

// The elements that are summed at a time. They fit into a cache.
constexpr int64_t kBlock = 1024;

template <typename T>
class PairwiseSumKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    dims_ = preparation.query.outputs[0];
    terms_ = preparation.query.inputs[0][0];
    // There is a partial sum for each bit of the number of terms, and one term.
    const auto sums = std::bit_width(static_cast<uint64_t>(terms_)) + 1;
    preparation.scratch_bytes = static_cast<size_t>(sums) * kBlock * sizeof(T);
  }

  void Compute(OpKernelContext& context) const override {
    const T* x = context.Input(0).data<T>();
    Tensor& out = context.AllocateOutput(0, dims_);
    const int64_t count = out.numel();
    T* to = out.data<T>();
    if (terms_ == 0) std::fill_n(to, count, T());
    if (terms_ == 0) return;
    auto* sums = static_cast<T*>(context.scratch());
    for (int64_t begin = 0; begin < count; begin += kBlock) {
      const int64_t size = std::min(kBlock, count - begin);
      SumBlock(x + begin, count, size, sums);
      std::copy_n(sums, size, to + begin);
    }
  }

 private:
  // sums[0, size) becomes the sum of the terms. `sums` is a stack of sums of
  // 2^n terms; two sums of equally many terms are added.
  void SumBlock(const T* x, int64_t stride, int64_t size, T* sums) const {
    int waiting = 0;
    // Adds partial sum `last` to the one before it.
    const auto add = [&](int last) {
      T* to = sums + (last - 1) * kBlock;
      const T* from = to + kBlock;
      for (int64_t i = 0; i < size; ++i) {
        to[i] = Narrow<T>(Widen(to[i]) + Widen(from[i]));
      }
    };
    for (int64_t term = 0; term < terms_; ++term) {
      std::copy_n(x + term * stride, size, sums + waiting * kBlock);
      ++waiting;
      for (int64_t done = term + 1; done % 2 == 0; done /= 2) {
        add(--waiting);
      }
    }
    while (waiting > 1) {
      add(--waiting);
    }
  }

  DDim dims_;
  int64_t terms_ = 0;
};

}  // namespace

REGISTER_OPERATOR(pairwise_sum, PairwiseSumSchema);
REGISTER_OP_CPU_KERNEL(pairwise_sum, PairwiseSumKernel<FloatAndHalfTypes>);

}  // namespace sluice
