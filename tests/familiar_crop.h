#pragma once

#include <vector>

#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/op_schema.h"

// The schemas of crop and its gradient, for kernels of Fluid's forms.
namespace sluice::testing {

inline void BoxOf(OpSchema& op) {
  op.Doc("As crop.").TypeVar("T", {DType::kFloat32});
  op.Input("X", "T", "What to cut from.");
  op.Attr<std::vector<int64_t>>("offsets", "First element.");
  op.Attr<std::vector<int64_t>>("shape", "Sizes.");
}

inline void FamiliarCropSchema(OpSchema& op) {
  BoxOf(op);
  op.Output("Out", "T", "The box.");
  op.InferShape([](InferShapeContext& c) {
    c.SetOutput(0, DDim(c.Attr<std::vector<int64_t>>("shape")));
  });
}

inline void FamiliarCropGradSchema(OpSchema& op) {
  BoxOf(op);
  op.Input("Out@GRAD", "T", "The gradient of the box.");
  op.Output("X@GRAD", "T", "The gradient of X.");
  op.InferShape([](InferShapeContext& c) { c.SetOutput(0, c.input(0)); });
}

}  // namespace sluice::testing
