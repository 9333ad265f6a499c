#pragma once

#include <memory>
#include <vector>

#include "sluice/framework/op/op_registry.h"
#include "sluice/platform/dtype_sets.h"

namespace sluice {

// Writes the elements of `from` to `to`, at the place of the call, in the dtype
// of `to`: one of them is float32, the other float16 or bfloat16. Both have
// memory and as many elements.
using ConvertTensor = void (*)(const OpKernelContext& call,
                               const Tensor& from,
                               Tensor* to);
SLUICE_API void ConvertOnHost(const OpKernelContext& call,
                              const Tensor& from,
                              Tensor* to);

// Runs a kernel for float32, the body, on tensors of float16 or bfloat16: the
// inputs are converted before, in scratch memory, and the outputs are rounded
// once after. Other dtypes are passed on. Register it by a set of dtypes below.
class SLUICE_API WidenedKernel : public OpKernel {
 public:
  using MakeBody = std::unique_ptr<OpKernel> (*)(const OpKernelConstruction&);

  WidenedKernel(const OpKernelConstruction& construction,
                MakeBody make_body,
                ConvertTensor convert);

  void Prepare(KernelPreparation& preparation) override;
  void Compute(OpKernelContext& context) const override;

 protected:
  // The registration of a kernel for `half` whose body has `traits`.
  static KernelTraits Widened(const KernelTraits& traits, DType half);

 private:
  DType half_;
  ConvertTensor convert_;
  std::unique_ptr<OpKernel> body_;
  size_t input_count_ = 0;
  ArgTable arguments_;             // of the body
  std::vector<uint8_t> narrowed_;  // for each output: whether it is rounded
  size_t body_scratch_bytes_ = 0;  // what follows are the float32 tensors
};

// In a set of dtypes: T, computed by the kernel for float32.
template <typename T, ConvertTensor kConvert>
struct InFloat {
  using Computed = float;

  template <typename Body>
  class Kernel final : public WidenedKernel {
   public:
    static constexpr DType kDTypes[1] = {kDTypeOf<T>};

    explicit Kernel(const OpKernelConstruction& construction)
        : WidenedKernel(construction, &internal::MakeKernel<Body>, kConvert) {}
    static KernelTraits AdaptTraits(const KernelTraits& traits) {
      return Widened(traits, kDTypeOf<T>);
    }
  };
};

// For kernels of the CPU whose template has no code of its own for halves.
using WidenedHalves = DTypeSet<InFloat<float16, &ConvertOnHost>,
                               InFloat<bfloat16, &ConvertOnHost>>;
using FloatsAndWidenedHalves = JoinTypes<FloatTypes, WidenedHalves>;

}  // namespace sluice
