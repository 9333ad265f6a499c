#include <algorithm>
#include <type_traits>

#include "sluice/operators/math/elementwise.h"
#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

void SumShape(InferShapeContext& context) {
  ShapeHandle out = InferShapeContext::UnknownShape();
  for (const ShapeHandle& x : context.inputs("X")) {
    out = context.Merge(out, x);
  }
  context.SetOutput("Out", out);
}

std::vector<OpDesc> SumGradient(const OpDesc& forward) {
  std::vector<OpDesc> grads;
  for (const std::string& x : forward.Input("X")) {
    grads.push_back(GradientThrough(forward, x, "assign", {}));
  }
  return grads;
}

void SumSchema(OpSchema& op) {
  op.Doc(
      "The sum of one or more tensors, from the first to the last. float16 and "
      "bfloat16 are added in float32 and rounded once; integers wrap around.");
  op.TypeVar("T", NumericDTypes());
  op.Input("X", "T", "Tensors of one shape.", {.variadic = true});
  op.Output("Out", "T", "Their sum.");
  op.InferShape(SumShape).Elementwise().Gradient(SumGradient).Alias("Out", "X");
  op.Serves(OpRole::kSum);
}

// A block of partial sums fits into the first-level cache.
constexpr int64_t kSumBlock = 1024;

// The type in which elements of type T are summed.
template <typename T>
struct Accumulator {
  using Type = Computed<T>;
};
template <>
struct Accumulator<int8_t> {
  using Type = uint8_t;
};
template <>
struct Accumulator<int32_t> {
  using Type = uint32_t;
};
template <>
struct Accumulator<int64_t> {
  using Type = uint64_t;
};

template <typename T>
class SumKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    inputs_ = static_cast<int>(preparation.query.inputs.size());
    dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, dims_);
    if (out.numel() == 0) return;
    T* to = out.data<T>();
    if (inputs_ == 1) {
      const T* from = context.Input(0).data<T>();
      if (from != to) CopyBytes(from, to, out.bytes());
      return;
    }
    ParallelFor(out.numel(), kGrain,
                [this, &context, to](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; i += kSumBlock) {
                    SumBlock(context, i, std::min(kSumBlock, end - i), to + i);
                  }
                });
  }

 private:
  void SumBlock(const OpKernelContext& context,
                int64_t first,
                int64_t count,
                T* out) const {
    const T* x0 = context.Input(0).data<T>() + first;
    if constexpr (std::is_floating_point_v<T>) {
      for (int i = 1; i < inputs_; ++i) {
        const T* x = context.Input(i).data<T>() + first;
        AddContiguous(i == 1 ? x0 : out, x, count, out);
      }
    } else {
      using Sum = typename Accumulator<T>::Type;
      Sum sums[kSumBlock];
      for (int64_t j = 0; j < count; ++j) {
        sums[j] = static_cast<Sum>(Widen(x0[j]));
      }
      for (int i = 1; i < inputs_; ++i) {
        const T* x = context.Input(i).data<T>() + first;
        for (int64_t j = 0; j < count; ++j) {
          sums[j] += static_cast<Sum>(Widen(x[j]));
        }
      }
      for (int64_t j = 0; j < count; ++j) {
        out[j] = Narrow<T>(static_cast<Computed<T>>(sums[j]));
      }
    }
  }

  int inputs_ = 0;
  DDim dims_;
};

// An addition for each input but the first; a copy counts as one.
KernelWork SumWork(const KernelQuery& query) {
  KernelWork work = DefaultKernelWork(query);
  work.flops *= std::max(1.0, static_cast<double>(query.inputs.size()) - 1);
  return work;
}

}  // namespace

REGISTER_OPERATOR(sum, SumSchema);
REGISTER_OP_CPU_KERNEL(sum, EstimatedBy<&SumWork>, SumKernel<NumberTypes>);

}  // namespace sluice
