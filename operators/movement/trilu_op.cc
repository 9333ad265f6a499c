#include <algorithm>

#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

void TriluShape(InferShapeContext& context) {
  context.SetOutput("Out", context.WithRankAtLeast(context.input("X"), 2));
}

std::vector<OpDesc> TriluGradient(const OpDesc& forward) {
  return {GradientThrough(forward, forward.Input("X")[0], "trilu",
                          forward.attributes)};
}

void TriluSchema(OpSchema& op) {
  op.Doc(
      "The upper or the lower triangle of each matrix of X, with its diagonal; "
      "0 elsewhere, whatever X has there.");
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "[..., rows, columns].");
  op.Output("Out", "T", "In the shape of X.");
  op.Attr<bool>("upper",
                "Keeps elements with column >= row + k; false: those with "
                "column <= row + k.")
      .Default(true);
  op.Attr<int64_t>("k", "How far the diagonal is moved to the right.")
      .Default(int64_t{0});
  op.Operand("K", "k", "int64", "Attribute k as one element.");
  op.InferShape(TriluShape).InferLateShape(TriluShape);
  op.Gradient(TriluGradient).Onnx({"Trilu", {}});
}

class TriluKernel final : public OpKernel {
 public:
  explicit TriluKernel(const OpKernelConstruction& construction)
      : upper_(construction.Attr<bool>("upper")),
        k_(construction.Attr<int64_t>("k")) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, x.dims());
    if (out.numel() == 0) return;
    const int rank = x.dims().rank();
    const int64_t rows = x.dims()[rank - 2], columns = x.dims()[rank - 1];
    // All k beyond these limits have the same effect.
    const int64_t k = std::clamp(k_, -rows, columns) + (upper_ ? 0 : 1);
    const auto size = static_cast<int64_t>(SizeOf(x.dtype()));
    const auto* from = static_cast<const char*>(x.raw_data());
    auto* to = static_cast<char*>(out.raw_data());
    ParallelFor(x.numel() / columns, std::max<int64_t>(1, kGrain / columns),
                [=, this](int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row) {
                    // The upper triangle begins here.
                    const int64_t at =
                        std::clamp<int64_t>(row % rows + k, 0, columns);
                    const char* in = from + row * columns * size;
                    char* of_row = to + row * columns * size;
                    const int64_t first = upper_ ? at * size : 0;
                    const int64_t last = (upper_ ? columns : at) * size;
                    std::fill(of_row, of_row + first, 0);
                    std::copy(in + first, in + last, of_row + first);
                    std::fill(of_row + last, of_row + columns * size, 0);
                  }
                });
  }

 private:
  bool upper_;
  int64_t k_;
};

}  // namespace

REGISTER_OPERATOR(trilu, TriluSchema);
REGISTER_OP_CPU_KERNEL(trilu, TriluKernel);

}  // namespace sluice
