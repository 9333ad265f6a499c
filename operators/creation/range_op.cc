#include <algorithm>
#include <cmath>
#include <type_traits>

#include "sluice/operators/creation/range.h"
#include "sluice/operators/math/cast.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

// Attributes are float64, which is exact for integers up to here.
constexpr double kWholeNumbers = 0x1p53;
constexpr double kMostElements = 0x1p40;

void RangeShape(InferShapeContext& context) {
  const auto start = context.Attr<double>("start");
  const auto end = context.Attr<double>("end");
  const auto step = context.Attr<double>("step");
  const auto dtype = context.Attr<DType>("dtype");
  if (!IsFloating(dtype)) {
    for (const char* name : {"start", "end", "step"}) {
      const auto value = context.Attr<double>(name);
      context.Require(
          std::trunc(value) == value && std::abs(value) < kWholeNumbers,
          "range.whole_number",
          "attribute {} is {}, expected a whole number below 2^53 for {}", name,
          value, dtype);
    }
  }
  context.Require(step != 0, "range.step",
                  "attribute step is 0: {} never comes to {}", start, end);
  const double count =
      IsFloating(dtype)
          ? RangeCount(start, end, step)
          : static_cast<double>(RangeCountOfWhole(start, end, step));
  context.Require(count <= kMostElements, "range.count",
                  "start {}, end {} and step {} make {} elements, expected at "
                  "most 2^40",
                  start, end, step, count);
  if (dtype == DType::kInt32 && count > 0) {
    for (const double value : {start, start + (count - 1) * step}) {
      context.Require(value >= -0x1p31 && value < 0x1p31, "range.int32",
                      "element {} is not within int32", value);
    }
  }
  context.SetOutput("Out", DDim{static_cast<int64_t>(count)});
}

void RangeLateShape(InferShapeContext& context) {
  context.SetOutput("Out", DDim{kUnknownDim});
}

void RangeSchema(OpSchema& op) {
  op.Doc(
      "The numbers start, start + step, ... before end, which a negative step "
      "comes to from above. Floats are computed in float64 as start + i * "
      "step, and rounded once.");
  op.TypeVarFromAttr("T", "dtype",
                     {DType::kInt64, DType::kInt32, DType::kFloat32,
                      DType::kFloat64, DType::kFloat16, DType::kBFloat16});
  op.Output("Out", "T", "[elements].");
  op.Attr<double>("start", "The first number.").Default(0.0);
  op.Attr<double>("end", "What all numbers are before.");
  op.Attr<double>("step", "From one to the next; not 0.").Default(1.0);
  op.Attr<DType>("dtype", "The dtype of Out.").Default(DType::kInt64);
  op.Operand("Start", "start", "T", "Attribute start as one element.");
  op.Operand("End", "end", "T", "Attribute end as one element.");
  op.Operand("Step", "step", "T", "Attribute step as one element.");
  op.InferShape(RangeShape).InferLateShape(RangeLateShape);
  op.Torch("torch.arange(start, end, step)");
}

template <typename T>
class RangeKernel final : public OpKernel {
 public:
  explicit RangeKernel(const OpKernelConstruction& construction)
      : elements_(construction.Attr<double>("start"),
                  construction.Attr<double>("step")) {}

  void Prepare(KernelPreparation& preparation) override {
    dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    T* out = context.AllocateOutput(0, dims_).data<T>();
    const int64_t count = dims_.numel();
    if constexpr (std::is_arithmetic_v<T>) {
      for (int64_t i = 0; i < count; ++i) {
        out[i] = static_cast<T>(elements_[i]);
      }
    } else {
      constexpr int64_t kBlock = 256;
      double block[kBlock];
      for (int64_t begin = 0; begin < count; begin += kBlock) {
        const int64_t size = std::min(kBlock, count - begin);
        for (int64_t i = 0; i < size; ++i) {
          block[i] = elements_[begin + i];
        }
        Cast(block, size, kDTypeOf<T>, out + begin);
      }
    }
  }

 private:
  RangeElements<T> elements_;
  DDim dims_;
};

}  // namespace

REGISTER_OPERATOR(range, RangeSchema);
REGISTER_OP_CPU_KERNEL(range,
                       RangeKernel<int64_t>,
                       RangeKernel<int32_t>,
                       RangeKernel<FloatAndHalfTypes>);

}  // namespace sluice
