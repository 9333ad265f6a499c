#include "sluice/operators/conv/conv2d_method.h"
#include "sluice/operators/math/conv/conv2d_rows.h"
#include "sluice/operators/math/conv/conv2d_work.h"

namespace sluice::operators {
namespace {

class RowsMethod {
 public:
  void Prepare(KernelPreparation& preparation,
               math::Conv2dDirection /*direction*/,
               size_t element) {
    plan_ = math::PlanConv2dRows(Conv2dGeometryOf(preparation.query), element,
                                 preparation.num_threads);
    preparation.scratch_bytes = plan_.scratch_bytes(element);
  }
  const math::Conv2dGeometry& geometry() const { return plan_.g; }

  template <typename T>
  void Forward(const T* input,
               const T* filter,
               const T* bias,
               T* output,
               void* scratch) const {
    math::Conv2dRows(plan_, input, filter, bias, output, scratch);
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

KernelWork RowsWork(const KernelQuery& query) {
  return math::Conv2dRowsWork(Conv2dGeometryOf(query),
                              platform::SizeOf(query.input_dtypes[0]));
}

}  // namespace

REGISTER_OP_KERNEL(conv2d,
                   PLAIN,
                   CPUPlace,
                   rows,
                   KernelTraits().Estimate(&RowsWork).When(&WideRows),
                   Conv2dKernel<RowsMethod, Floats>);

}  // namespace sluice::operators
