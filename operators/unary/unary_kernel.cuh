#pragma once

#include "sluice/operators/math/device_formulas.cuh"
#include "sluice/operators/registration.h"
#include "sluice/operators/unary/unary_params.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {

// Computes Out = Row::Of(X) on CUDA.
template <typename T, typename Row>
class UnaryCUDAKernel final : public OpKernel {
 public:
  explicit UnaryCUDAKernel(const OpKernelConstruction& construction)
      : params_(ReadUnaryParams(Row::kInfo, construction)) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input(0);
    const T* x = input.data<T>();
    T* out = context.AllocateOutput(0, input.dims()).template data<T>();
    const UnaryParams params = params_;
    ForEach(context.device_context<CUDADeviceContext>(), input.numel(),
            [=] __device__(int64_t i) { out[i] = Row::Of(x[i], params); });
  }

 private:
  UnaryParams params_;
};

// Computes X@GRAD = Row::Gradient(input 0, Out@GRAD). Input 0 is X or Out, as
// the formula requires.
template <typename T, typename Row>
class UnaryGradCUDAKernel final : public OpKernel {
 public:
  explicit UnaryGradCUDAKernel(const OpKernelConstruction& construction)
      : params_(ReadUnaryParams(Row::kInfo, construction)) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input(0);
    const T* seen = input.data<T>();
    const T* grad = context.Input(1).template data<T>();
    T* x_grad = context.AllocateOutput(0, input.dims()).template data<T>();
    const UnaryParams params = params_;
    ForEach(context.device_context<CUDADeviceContext>(), input.numel(),
            [=] __device__(int64_t i) {
              x_grad[i] = Row::Gradient(seen[i], grad[i], params);
            });
  }

 private:
  UnaryParams params_;
};

template <typename Row>
void AddUnaryCUDARow(Registry& registry) {
  const std::string name = Row::kInfo.name;
  const CUDAPlace cuda;
  AddPlainKernels<UnaryCUDAKernel<FloatTypes, Row>>(registry, name, cuda);
  AddPlainKernels<UnaryGradCUDAKernel<FloatTypes, Row>>(registry,
                                                        name + "_grad", cuda);
}

template <typename... Row>
void AddUnaryCUDARows(Rows<Row...> /*table*/, Registry& registry) {
  (AddUnaryCUDARow<Row>(registry), ...);
}

}  // namespace sluice
