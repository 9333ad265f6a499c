#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/conv/conv2d_kernel.h"
#include "sluice/operators/math/conv/conv2d_rows.h"
#include "sluice/operators/math/conv/conv2d_work.h"

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

framework::KernelWork RowsWork(const KernelQuery& query) {
  return math::Conv2dRowsWork(Conv2dGeometryOf(query),
                              platform::SizeOf(query.input_dtypes[0]));
}

}  // namespace

REGISTER_OP_KERNEL(conv2d,
                   PLAIN,
                   CPUPlace,
                   rows,
                   KernelTraits().Estimate(&RowsWork).When(&WideRows),
                   Conv2dRowsKernel<float>,
                   Conv2dRowsKernel<double>);

}  // namespace sluice::operators
