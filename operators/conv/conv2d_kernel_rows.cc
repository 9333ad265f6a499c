#include "sluice/operators/conv/conv2d_method.h"
#include "sluice/operators/math/conv/conv2d_rows.h"
#include "sluice/operators/math/conv/conv2d_work.h"

namespace sluice {
namespace {

class RowsMethod {
 public:
  void Prepare(KernelPreparation& preparation,
               Conv2dDirection /*direction*/,
               size_t element) {
    plan_ = PlanConv2dRows(Conv2dGeometryOf(preparation.query), element,
                           preparation.num_threads);
    preparation.scratch_bytes = plan_.scratch_bytes(element);
  }
  const Conv2dGeometry& geometry() const { return plan_.g; }

  template <typename T>
  void Forward(const T* input,
               const T* filter,
               const T* bias,
               T* output,
               void* scratch) const {
    Conv2dRows(plan_, input, filter, bias, output, scratch);
  }

 private:
  Conv2dRowsPlan plan_;
};

std::string WideRows(const KernelQuery& query) {
  const Conv2dGeometry g = Conv2dGeometryOf(query);
  const size_t element = SizeOf(query.input_dtypes[0]);
  if (FitsConv2dRows(g, element)) return "";
  return Format(
      "needs NCHW and rows of at least {} outputs, a vector, got {} with {}",
      Conv2dRowsLanes(element), query.Attr<std::string>("data_format"),
      g.out_w);
}

KernelWork RowsWork(const KernelQuery& query) {
  return Conv2dRowsWork(Conv2dGeometryOf(query), SizeOf(query.input_dtypes[0]));
}

}  // namespace

REGISTER_OP_KERNEL(conv2d,
                   PLAIN,
                   CPUPlace,
                   rows,
                   KernelTraits().Estimate(&RowsWork).When(&WideRows),
                   Conv2dKernel<RowsMethod, FloatTypes>);

}  // namespace sluice
