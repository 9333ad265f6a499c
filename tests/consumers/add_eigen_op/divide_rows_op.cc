#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/op_registry.h"
#include "sluice/framework/op/op_requires.h"
#include "sluice/framework/op/status.h"
#include "sluice/operators/math/eigen_views.h"

namespace eigen_ops {
namespace {

using sluice::DimHandle;
using sluice::DType;
using sluice::InferShapeContext;
using sluice::OpKernel;
using sluice::OpKernelConstruction;
using sluice::OpKernelContext;
using sluice::OpSchema;
using sluice::ShapeHandle;
using sluice::Status;
using sluice::Tensor;
using sluice::TTypes;
namespace errors = sluice::errors;

Status DivideRowsShape(InferShapeContext* c) {
  ShapeHandle x;
  ShapeHandle divisor;
  DimHandle columns;
  SLUICE_RETURN_IF_ERROR(c->WithRank(c->input(0), 2, &x));
  SLUICE_RETURN_IF_ERROR(c->WithRank(c->input(1), 1, &divisor));
  SLUICE_RETURN_IF_ERROR(c->Merge(c->Dim(x, 1), c->Dim(divisor, 0), &columns));
  c->set_output(0, c->MakeShape({c->Dim(x, 0), columns}));
  return Status::OK();
}

void DivideRowsSchema(OpSchema& op) {
  op.Doc("Out[i, j] = X[i, j] / Divisor[j].");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("X", "T", "A matrix [N, M].");
  op.Input("Divisor", "T", "[M], without zeros.");
  op.Output("Out", "T", "[N, M].");
  op.InferShape(DivideRowsShape);
}

template <typename Device, typename T>
class DivideRowsKernel final : public OpKernel {
 public:
  explicit DivideRowsKernel(const OpKernelConstruction& /*construction*/) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor* x = nullptr;
    const Tensor* divisor = nullptr;
    Tensor* out = nullptr;
    OP_REQUIRES_OK(context, context.Input("X", &x));
    OP_REQUIRES_OK(context, context.Input("Divisor", &divisor));
    OP_REQUIRES_OK(context, context.AllocateOutput("Out", x->dims(), &out));

    const typename TTypes<T>::ConstVec row = divisor->vec<T>();
    const Eigen::Tensor<bool, 0, Eigen::RowMajor> any_zero =
        (row == T{0}).any();
    OP_REQUIRES(context, !any_zero(),
                errors::InvalidArgument("Divisor has a zero"));
    const Eigen::array<Eigen::Index, 2> one_row{1, row.dimension(0)};
    const Eigen::array<Eigen::Index, 2> every_row{x->dims()[0], 1};
    out->matrix<T>().device(context.eigen_device<Device>()) =
        x->matrix<T>() / row.reshape(one_row).broadcast(every_row);
  }
};

}  // namespace

REGISTER_OPERATOR(divide_rows, DivideRowsSchema);
REGISTER_OP_CPU_KERNEL(divide_rows,
                       DivideRowsKernel<Eigen::DefaultDevice, float>,
                       DivideRowsKernel<Eigen::DefaultDevice, double>);

}  // namespace eigen_ops
