#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/op_registry.h"
#include "sluice/framework/op/status.h"

namespace my_ops {
namespace {

using sluice::DimHandle;
using sluice::DType;
using sluice::InferShapeContext;
using sluice::OpSchema;
using sluice::ShapeHandle;
using sluice::Status;

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

}  // namespace

REGISTER_OPERATOR(divide_rows, DivideRowsSchema);

}  // namespace my_ops
