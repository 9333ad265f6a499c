#include <algorithm>
#include <string_view>
#include <type_traits>

#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/math/unary/unary_row.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/unary/unary_params.h"
#include "sluice/operators/usual_shapes.h"
#include "sluice/platform/parallel_for.h"

// The schemas and kernels of the rows of math/unary's tables and of their
// gradient ops: an op's name selects its row. float16 and bfloat16 are computed
// in float32.
namespace sluice {
namespace {

void UnaryGradShape(InferShapeContext& context) {
  // Input 0 is X or Out, as the formula of the derivative requires.
  context.SetOutput("X@GRAD",
                    context.Merge(context.input(0), context.input("Out@GRAD")));
}

// Only X or only Out is read, so that the other can be freed.
constexpr GradientOp kGradFromX = {.inputs = {"X"}, .shape = UnaryGradShape};
constexpr GradientOp kGradFromOut = {.outputs = {"Out"},
                                     .shape = UnaryGradShape};

std::vector<DType> DTypes(const UnaryInfo& info) {
  std::vector<DType> dtypes = FloatDTypes();
  if (info.dtypes == UnaryDTypes::kSignedNumbers) {
    for (const DType dtype : {DType::kInt8, DType::kInt32, DType::kInt64}) {
      dtypes.push_back(dtype);
    }
  }
  return dtypes;
}

void Schema(const UnaryInfo& info, OpSchema& op) {
  op.Doc(info.doc);
  op.TypeVar("T", DTypes(info));
  op.Input("X", "T", "A tensor of any shape.");
  op.Output("Out", "T", "A tensor of the same shape.");
  for (const UnaryAttr& attr : info.attributes) {
    if (attr.name == nullptr) continue;
    if (attr.is_bool) {
      op.Attr<bool>(attr.name, attr.doc).Default(attr.default_value != 0);
    } else {
      op.Attr<double>(attr.name, attr.doc).Default(attr.default_value);
    }
  }
  op.InferShape(SameShape).Elementwise();
  op.Gradient(info.gradient_reads == GradientReads::kX
                  ? MakeGradients<kGradFromX>
                  : MakeGradients<kGradFromOut>);
  op.Torch(info.torch).Family(info.family);
  OnnxCounterpart onnx = {info.onnx, {}};
  for (const UnaryAttr& attr : info.attributes) {
    if (attr.onnx != nullptr) onnx.attributes[attr.onnx] = attr.name;
  }
  op.Onnx(std::move(onnx));
}

void AddUnaryOps(Registry& registry) {
  for (const UnaryRow& row : UnaryRows()) {
    const UnaryInfo& info = row.info;
    registry.AddOperator(info.name, [&](OpSchema& op) { Schema(info, op); });
    registry.AddOperator(std::string(info.name) + "_grad", [&](OpSchema& op) {
      const bool reads_x = info.gradient_reads == GradientReads::kX;
      DeriveGradient(registry.Schema(info.name),
                     reads_x ? kGradFromX : kGradFromOut, op);
      op.Doc(std::string("The gradient of ") + info.name + ": " +
             info.gradient_doc);
      op.Elementwise();
    });
  }
}

constexpr int64_t kUnaryGrain = 16384;
constexpr int64_t kHalfBlock = 256;

template <typename T>
void WidenAll(const T* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = Widen(from[i]);
  }
}

template <typename T>
void NarrowAll(const float* from, int64_t count, T* to) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = Narrow<T>(from[i]);
  }
}

// Computes Out = f(X).
template <typename T>
class UnaryKernel final : public OpKernel {
 public:
  explicit UnaryKernel(const OpKernelConstruction& construction) {
    const UnaryRow& row = *FindUnaryRow(construction.op());
    function_ = row.Loops<Computed<T>>().forward;
    params_ = ReadUnaryParams(row.info, construction);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, x.dims());
    if (out.numel() == 0) return;
    const T* from = x.data<T>();
    T* to = out.data<T>();
    ParallelFor(out.numel(), kUnaryGrain,
                [this, from, to](int64_t begin, int64_t end) {
                  Range(from + begin, end - begin, to + begin);
                });
  }

 private:
  void Range(const T* from, int64_t count, T* to) const {
    if constexpr (kIsHalf<T>) {
      float values[kHalfBlock];
      while (count > 0) {
        const int64_t block = std::min(count, kHalfBlock);
        WidenAll(from, block, values);
        function_(values, block, params_, values);
        NarrowAll(values, block, to);
        from += block;
        to += block;
        count -= block;
      }
    } else {
      function_(from, count, params_, to);
    }
  }

  decltype(UnaryLoops<Computed<T>>::forward) function_;
  UnaryParams params_;
};

// Computes X@GRAD = Out@GRAD * f'(X) from input 0, which is X or Out.
template <typename T>
class UnaryGradKernel final : public OpKernel {
 public:
  explicit UnaryGradKernel(const OpKernelConstruction& construction) {
    std::string_view name = construction.op();
    name.remove_suffix(std::string_view("_grad").size());
    const UnaryRow& row = *FindUnaryRow(name);
    function_ = row.Loops<Computed<T>>().gradient;
    params_ = ReadUnaryParams(row.info, construction);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& out_grad = context.Input(1);
    Tensor& x_grad = context.AllocateOutput(0, out_grad.dims());
    if (x_grad.numel() == 0) return;
    const T* seen = context.Input(0).template data<T>();
    const T* from = out_grad.data<T>();
    T* to = x_grad.data<T>();
    ParallelFor(x_grad.numel(), kUnaryGrain,
                [this, seen, from, to](int64_t begin, int64_t end) {
                  Range(seen + begin, from + begin, end - begin, to + begin);
                });
  }

 private:
  void Range(const T* seen, const T* from, int64_t count, T* to) const {
    if constexpr (kIsHalf<T>) {
      float values[kHalfBlock];
      float grads[kHalfBlock];
      while (count > 0) {
        const int64_t block = std::min(count, kHalfBlock);
        WidenAll(seen, block, values);
        WidenAll(from, block, grads);
        function_(values, grads, block, params_, grads);
        NarrowAll(grads, block, to);
        seen += block;
        from += block;
        to += block;
        count -= block;
      }
    } else {
      function_(seen, from, count, params_, to);
    }
  }

  decltype(UnaryLoops<Computed<T>>::gradient) function_;
  UnaryParams params_;
};

void AddUnaryKernels(Registry& registry) {
  const CPUPlace cpu;
  for (const UnaryRow& row : UnaryRows()) {
    const std::string name = row.info.name;
    AddPlainKernels<UnaryKernel<FloatAndHalfTypes>>(registry, name, cpu);
    if (row.info.dtypes == UnaryDTypes::kSignedNumbers) {
      AddPlainKernels<UnaryKernel<int8_t>, UnaryKernel<IndexTypes>>(registry,
                                                                    name, cpu);
    }
    AddPlainKernels<UnaryGradKernel<FloatAndHalfTypes>>(registry,
                                                        name + "_grad", cpu);
  }
}

}  // namespace

REGISTER_TABLE(unary_ops, AddUnaryOps);
REGISTER_TABLE(unary_kernels, AddUnaryKernels);

}  // namespace sluice
