#pragma once

#include <string>
#include <vector>

#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/op_dtypes.h"

// What relu and its like have in common: Out[i] = f(X[i]).
namespace sluice::operators {

inline void UnaryShape(framework::InferShapeContext& context) {
  context.SetOutput("Out", context.input("X"));
}

inline void UnaryGradShape(framework::InferShapeContext& context) {
  // X or Out, whichever the derivative is written with.
  context.SetOutput("X@GRAD",
                    context.Merge(context.input(0), context.input("Out@GRAD")));
}

// The gradient reads Out only, so that X need not be kept.
inline std::vector<framework::OpDesc> GradientFromOut(
    const framework::OpDesc& forward) {
  return {framework::MakeGradOp(forward, forward.type + "_grad",
                                {{}, {"Out"}, {"Out"}, {"X"}})};
}
inline std::vector<framework::OpDesc> GradientFromX(
    const framework::OpDesc& forward) {
  return {framework::MakeGradOp(forward, forward.type + "_grad",
                                {{"X"}, {}, {"Out"}, {"X"}})};
}

inline void UnarySchema(framework::OpSchema& op,
                        std::string doc,
                        framework::OpSchema::GradientFn gradient) {
  op.Doc(std::move(doc));
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T", "A tensor of any shape.");
  op.Output("Out", "T", "A tensor of the same shape.");
  op.InferShape(UnaryShape).Gradient(gradient);
}

// `seen` is X or Out, as the gradient maker has it.
inline void UnaryGradSchema(framework::OpSchema& op,
                            std::string doc,
                            const std::string& seen) {
  op.Doc(std::move(doc));
  op.TypeVar("T", FloatDTypes());
  op.Input(seen, "T", "As the forward op had it.");
  op.Input("Out@GRAD", "T", "The gradient of Out.");
  op.Output("X@GRAD", "T", "The gradient of X.");
  op.InferShape(UnaryGradShape);
}

}  // namespace sluice::operators
