#include <algorithm>
#include <cstring>

#include "sluice/operators/registration.h"

namespace sluice {
namespace {

// Copies the bytes of elements of any dtype.
class CompressKernel final : public OpKernel {
 public:
  explicit CompressKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")),
        flatten_(construction.Attr<bool>("flatten")) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& condition = context.Input(1);
    const DDim from = flatten_ ? DDim({x.numel()}) : x.dims();
    const auto axis =
        static_cast<int>(axis_ < 0 && !flatten_ ? axis_ + from.rank()
                         : flatten_             ? 0
                                                : axis_);
    const bool* taken = condition.data<bool>();
    const int64_t length = condition.numel();
    int64_t count = 0;
    for (int64_t i = 0; i < length; ++i) {
      SLUICE_ENFORCE(!taken[i] || i < from[axis], ErrorCode::kOutOfRange,
                     "compress.condition",
                     "input Condition is true at {}; input X {} has {} slices",
                     i, x.dims(), from[axis]);
      count += taken[i] ? 1 : 0;
    }
    DDim to = from;
    to[axis] = count;
    size_t outer = 1;
    size_t bytes = SizeOf(x.dtype());
    for (int i = 0; i < from.rank(); ++i) {
      if (i < axis) outer *= static_cast<size_t>(from[i]);
      if (i > axis) bytes *= static_cast<size_t>(from[i]);
    }
    Tensor& out = context.AllocateOutput(0, to);
    const auto* source = static_cast<const char*>(x.raw_data());
    auto* target = static_cast<char*>(out.raw_data());
    if (out.numel() == 0) return;
    const int64_t slices = std::min(length, from[axis]);
    for (size_t row = 0; row < outer; ++row) {
      for (int64_t i = 0; i < slices; ++i) {
        if (!taken[i]) continue;
        std::memcpy(target, source + static_cast<size_t>(i) * bytes, bytes);
        target += bytes;
      }
      source += static_cast<size_t>(from[axis]) * bytes;
    }
  }

 private:
  int64_t axis_;
  bool flatten_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(compress, CompressKernel);

}  // namespace sluice
