#pragma once

#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/op_schema.h"

// What the ops that update parameters share.
namespace sluice::operators {

// Type variable T, inputs Param and Grad, and output ParamOut, which replaces
// Param.
inline void ParamArguments(framework::OpSchema& op) {
  op.TypeVar("T", {platform::DType::kFloat32, platform::DType::kFloat64});
  op.Input("Param", "T", "The parameter, of any shape.");
  op.Input("Grad", "T", "Its gradient, in the same shape.");
  op.Output("ParamOut", "T", "The updated parameter.");
  op.Update("ParamOut", "Param");
}

// Behind the state that the op keeps between steps.
inline void RateArgument(framework::OpSchema& op) {
  op.Input("LearningRate", "T", "[1]: the step size.", {.host = true});
}

// A tensor that the op keeps from step to step: input `name` and output
// `name`Out, which replaces it.
inline void StateArguments(framework::OpSchema& op,
                           const std::string& name,
                           const std::string& doc) {
  op.Input(name, "T", doc);
  op.Output(name + "Out", "T", "The updated " + name + ".");
  op.Update(name + "Out", name);
}

// Param, Grad and the tensors in `states` have one shape, LearningRate is [1].
inline void UpdateShape(framework::InferShapeContext& context,
                        std::initializer_list<const char*> states) {
  framework::ShapeHandle param =
      context.Merge(context.input("Param"), context.input("Grad"));
  for (const char* state : states) {
    param = context.Merge(param, context.input(state));
  }
  context.Merge(context.input("LearningRate"),
                framework::InferShapeContext::Vector(1));
  context.SetOutput("ParamOut", param);
  for (const char* state : states) {
    context.SetOutput(std::string(state) + "Out", param);
  }
}

}  // namespace sluice::operators
