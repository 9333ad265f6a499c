#include <algorithm>

#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/ragged/sequences.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

int64_t ElementNumber(const OpKernelContext& context) {
  const Tensor& number = context.Input("I");
  int64_t value = 0;
  VisitIndex(number.dtype(),
             [&]<typename S>() { value = number.data<S>()[0]; });
  return value;
}

class ArrayWriteKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    out_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const int64_t number = ElementNumber(context);
    SLUICE_ENFORCE(number >= 0 && number < out_[0], ErrorCode::kOutOfRange,
                   "array_write.capacity",
                   "{}: I = {}; expected 0 to {}: the array has room for {} "
                   "elements, its capacity",
                   context.op(), number, out_[0] - 1, out_[0]);
    const bool has_x = context.HasInput("X");
    if (has_x && context.HasInput("XOffsets")) {
      CheckedSequences(context, context.Input("XOffsets"),
                       context.Input("X").dims()[0]);
    }
    Tensor& out = context.AllocateOutput(0, out_);
    if (out.numel() == 0) return;
    auto* const to = static_cast<char*>(out.raw_data());
    if (!context.HasInput("Array")) {
      FillZero(to, out.bytes());
    } else if (context.Input("Array").raw_data() != to) {
      CopyBytes(context.Input("Array").raw_data(), to, out.bytes());
    }
    const size_t bytes = out.bytes() / static_cast<size_t>(out_[0]);
    char* const element = to + static_cast<size_t>(number) * bytes;
    if (has_x) {
      CopyBytes(context.Input("X").raw_data(), element, bytes);
    } else {
      FillZero(element, bytes);
    }
  }

 private:
  DDim out_;
};

class ArrayReadKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    capacity_ = preparation.query.inputs[0][0];
    out_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const int64_t number = ElementNumber(context);
    const int64_t length = context.HasInput("Length")
                               ? context.Input("Length").data<int64_t>()[0]
                               : capacity_;
    SLUICE_ENFORCE(number >= 0 && number < std::min(length, capacity_),
                   ErrorCode::kOutOfRange, "array_read.length",
                   "{}: I = {}, and the array has {} elements (Length), of the "
                   "{} that there is room for",
                   context.op(), number, length, capacity_);
    Tensor& out = context.AllocateOutput(0, out_);
    if (out.numel() == 0) return;
    const auto* const from =
        static_cast<const char*>(context.Input("Array").raw_data());
    CopyBytes(from + static_cast<size_t>(number) * out.bytes(), out.raw_data(),
              out.bytes());
  }

 private:
  int64_t capacity_ = 0;
  DDim out_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(array_write, ArrayWriteKernel);
REGISTER_OP_CPU_KERNEL(array_read, ArrayReadKernel);

}  // namespace sluice
