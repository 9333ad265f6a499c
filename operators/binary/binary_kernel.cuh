#pragma once

#include <algorithm>
#include <type_traits>

#include "sluice/operators/binary/operand_gradient.cuh"
#include "sluice/operators/math/binary/binary_row.h"
#include "sluice/operators/math/device_formulas.cuh"
#include "sluice/operators/registration.h"

namespace sluice {

// A row's formula for the stored numbers. Integers wrap around.
template <typename Row>
struct Arithmetic {
  template <typename T>
  __device__ static T Of(T x, T y) {
    if constexpr (std::is_integral_v<T>) {
      return Row::Of(Wrapped<T>(static_cast<uint64_t>(x)),
                     Wrapped<T>(static_cast<uint64_t>(y)))
          .v;
    } else {
      return Row::Of(x, y);
    }
  }
};

// Computes Out = Function::Of(X, Y) on CUDA and broadcasts the smaller operand.
template <typename T, typename Function, typename Result = T>
class ElementwiseCUDAKernel final : public OpKernel {
 public:
  explicit ElementwiseCUDAKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  void Prepare(KernelPreparation& preparation) override {
    x_dims_ = preparation.query.inputs[0];
    y_dims_ = preparation.query.inputs[1];
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const auto& device = context.device_context<CUDADeviceContext>();
    const T* x = context.Input(0).template data<T>();
    const T* y = context.Input(1).template data<T>();
    Result* out = context.AllocateOutput(0, out_dims_).template data<Result>();
    const int64_t count = out_dims_.numel();
    if (count == 0) return;
    if (x_dims_ == y_dims_) {
      ForEach(device, count,
              [=] __device__(int64_t i) { out[i] = Function::Of(x[i], y[i]); });
    } else {
      const DeviceWalk walk = WalkOperands(x_dims_, y_dims_, axis_);
      ForEach(device, count, [=] __device__(int64_t i) {
        const DeviceWalk::Position at = walk.At(i);
        out[i] = Function::Of(x[at.first], y[at.second]);
      });
    }
  }

 private:
  int64_t axis_;
  DDim x_dims_;
  DDim y_dims_;
  DDim out_dims_;
};

// The gradient of one operand for each element of Out, before any reduction.
// Inputs that the formula in `Row` does not read are null.
template <typename T, typename Row, bool kOfX>
struct ElementwiseGradTerm {
  DeviceWalk walk;
  const T* out_grad;
  const T* x;
  const T* y;
  const T* out;

  __device__ T At(int64_t i) const {
    const DeviceWalk::Position at = walk.At(i);
    const T grad = out_grad[i];
    const T x_value = x == nullptr ? T{0} : x[at.first];
    const T y_value = y == nullptr ? T{0} : y[at.second];
    const T out_value = out == nullptr ? T{0} : out[i];
    constexpr BinaryTerm kTerm = kOfX ? Row::kInfo.x_term : Row::kInfo.y_term;
    if constexpr (kTerm == BinaryTerm::kSame) {
      return grad;
    } else if constexpr (kOfX) {
      return Row::XGradient(grad, x_value, y_value, out_value);
    } else {
      return Row::YGradient(grad, x_value, y_value, out_value);
    }
  }
};

// Computes the gradients of X op Y on CUDA. A broadcast operand's is a sum.
template <typename T, typename Row>
class ElementwiseGradCUDAKernel final : public OpKernel {
 public:
  explicit ElementwiseGradCUDAKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  void Prepare(KernelPreparation& preparation) override {
    x_dims_ = preparation.query.inputs[0];
    y_dims_ = preparation.query.inputs[1];
    BroadcastShape(x_dims_, y_dims_, axis_, &out_dims_);
    x_grad_ = OperandCUDAGradient(x_dims_, out_dims_, -1);
    y_grad_ = OperandCUDAGradient(y_dims_, out_dims_, axis_);
    preparation.scratch_bytes =
        std::max(x_grad_.scratch_bytes(), y_grad_.scratch_bytes());
  }

  // X@GRAD is last: it may overwrite Out@GRAD, which Y's reduction reads.
  void Compute(OpKernelContext& context) const override {
    if (context.HasOutput("Y@GRAD")) {
      T* grad = context.AllocateOutput("Y@GRAD", y_dims_).template data<T>();
      y_grad_.Write(context, Term<false>(context), grad);
    }
    if (context.HasOutput("X@GRAD")) {
      T* grad = context.AllocateOutput("X@GRAD", x_dims_).template data<T>();
      x_grad_.Write(context, Term<true>(context), grad);
    }
  }

 private:
  template <bool kOfX>
  ElementwiseGradTerm<T, Row, kOfX> Term(const OpKernelContext& context) const {
    const auto read = [&](bool wanted, const char* name) -> const T* {
      return wanted ? context.Input(name).template data<T>() : nullptr;
    };
    return {WalkOperands(x_dims_, y_dims_, axis_),
            context.Input("Out@GRAD").template data<T>(),
            read(Row::kInfo.gradient_reads.x, "X"),
            read(Row::kInfo.gradient_reads.y, "Y"),
            read(Row::kInfo.gradient_reads.out, "Out")};
  }

  int64_t axis_;
  DDim x_dims_;
  DDim y_dims_;
  DDim out_dims_;
  OperandCUDAGradient x_grad_;
  OperandCUDAGradient y_grad_;
};

// Adds the kernels of a row of logic or comparison, which has no gradient.
template <typename Row, typename... T>
void AddPlainCUDAKernels(Registry& registry) {
  constexpr bool kBool = Row::kInfo.result == BinaryResult::kBool;
  AddPlainKernels<
      ElementwiseCUDAKernel<T, Row, std::conditional_t<kBool, bool, T>>...>(
      registry, Row::kInfo.name, CUDAPlace());
}

template <typename Row>
void AddPlainCUDARow(Registry& registry) {
  constexpr BinaryDTypes kDTypes = Row::kInfo.dtypes;
  constexpr bool kAll = kDTypes == BinaryDTypes::kAll;
  constexpr bool kNumbers = kAll || kDTypes == BinaryDTypes::kNumbers;
  if constexpr (kNumbers || kDTypes == BinaryDTypes::kFloats) {
    AddPlainCUDAKernels<Row, float, double>(registry);
  }
  if constexpr (kNumbers || kDTypes == BinaryDTypes::kIntegers) {
    AddPlainCUDAKernels<Row, int8_t, uint8_t, int32_t, int64_t>(registry);
  }
  if constexpr (kAll || kDTypes == BinaryDTypes::kBool) {
    AddPlainCUDAKernels<Row, bool>(registry);
  }
}

template <typename... Row>
void AddPlainCUDARows(Rows<Row...> /*table*/, Registry& registry) {
  (AddPlainCUDARow<Row>(registry), ...);
}

// Adds the forward kernels of a row of arithmetic.
template <typename Row, typename... T>
void AddArithmeticCUDAKernels(Registry& registry) {
  AddPlainKernels<ElementwiseCUDAKernel<T, Arithmetic<Row>>...>(
      registry, Row::kInfo.name, CUDAPlace());
}

template <typename Row>
void AddArithmeticCUDARow(Registry& registry) {
  AddArithmeticCUDAKernels<Row, float, double>(registry);
  if constexpr (Row::kInfo.dtypes != BinaryDTypes::kFloats) {
    AddArithmeticCUDAKernels<Row, int8_t, uint8_t, int32_t, int64_t>(registry);
  }
  if constexpr (Row::kInfo.dtypes == BinaryDTypes::kAll) {
    AddArithmeticCUDAKernels<Row, bool>(registry);
  }
  AddPlainKernels<ElementwiseGradCUDAKernel<FloatTypes, Row>>(
      registry, std::string(Row::kInfo.name) + "_grad", CUDAPlace());
}

template <typename... Row>
void AddArithmeticCUDARows(Rows<Row...> /*table*/, Registry& registry) {
  (AddArithmeticCUDARow<Row>(registry), ...);
}

}  // namespace sluice
