#include "sluice/framework/op_registry.h"
#include "sluice/operators/conv2d_kernel.h"
#include "sluice/operators/math/conv2d_rows.h"

namespace sluice::operators {
namespace {

using framework::KernelPreparation;
using framework::KernelQuery;
using framework::KernelTraits;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;

template <typename T>
class Conv2dRowsKernel final : public OpKernel {
 public:
  explicit Conv2dRowsKernel(const OpKernelConstruction& /*construction*/) {}

  void Prepare(KernelPreparation& preparation) override {
    plan_ = math::PlanConv2dRows(Conv2dGeometryOf(preparation.query), sizeof(T),
                                 preparation.num_threads);
    preparation.scratch_bytes = plan_.scratch_bytes(sizeof(T));
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input("Input");
    const Tensor& filter = context.Input("Filter");
    const T* bias =
        context.HasInput("Bias") ? context.Input("Bias").data<T>() : nullptr;
    Tensor& output =
        context.AllocateOutput("Output", Conv2dOutputDims(plan_.g));
    if (output.numel() == 0) return;
    math::Conv2dRows(plan_, input.data<T>(), filter.data<T>(), bias,
                     output.data<T>(), context.scratch());
  }

 private:
  math::Conv2dRowsPlan plan_;
};

std::string WideRows(const KernelQuery& query) {
  const math::Conv2dGeometry g = Conv2dGeometryOf(query);
  const size_t element = platform::SizeOf(query.input_dtypes[0]);
  if (math::FitsConv2dRows(g, element)) return "";
  return platform::Format(
      "needs NCHW and rows of at least {} outputs, a vector, got {} with {}",
      math::Conv2dRowsLanes(element), query.Attr<std::string>("data_format"),
      g.out_w);
}

// How full vectors of `lanes` are that hold `count` numbers.
double Filled(int64_t count, int64_t lanes) {
  const int64_t vectors = (count + lanes - 1) / lanes;
  return static_cast<double>(count) / static_cast<double>(vectors * lanes);
}

// Measured on one core with AVX2, between 1 and 256 channels. Libraries make
// vectors of channels: theirs are emptier with few channels, these with short
// rows.
int Rank(const KernelQuery& query) {
  constexpr size_t kMeasuredVector = 32;  // bytes
  constexpr int kWorst = -4, kBeforeLibraries = 25, kBeforeProduct = 3;
  const math::Conv2dGeometry g = Conv2dGeometryOf(query);
  const size_t element = platform::SizeOf(query.input_dtypes[0]);
  const int64_t lanes = math::Conv2dRowsLanes(element);
  const bool one_tap = g.kernel_h * g.kernel_w == 1;
  if (one_tap || static_cast<size_t>(lanes) * element != kMeasuredVector) {
    return kWorst;
  }
  const double rows = Filled(g.out_w, lanes);
  const double channels =
      Filled(g.group_in_c(), lanes) * Filled(g.group_out_c(), lanes);
  if (g.stride_w == 1 && (g.group_in_c() <= 4 || 0.9 * rows > channels)) {
    return kBeforeLibraries;
  }
  return g.stride_w == 1 && rows > 0.9 ? kBeforeProduct : kWorst;
}

}  // namespace

REGISTER_OP_KERNEL(conv2d,
                   PLAIN,
                   CPUPlace,
                   rows,
                   KernelTraits().Priority(0, &Rank).When(&WideRows),
                   Conv2dRowsKernel<float>,
                   Conv2dRowsKernel<double>);

}  // namespace sluice::operators
