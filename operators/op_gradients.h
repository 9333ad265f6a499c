#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "sluice/operators/registration.h"
#include "sluice/platform/export.h"

namespace sluice {

// An argument of the forward op that its gradient op reads.
struct GradientInput {
  constexpr GradientInput(const char* name = nullptr,  // NOLINT
                          bool shape_only = false)
      : name(name), shape_only(shape_only) {}

  const char* name;
  bool shape_only;
};

// Only the shape of input `name` is read, so that its data can be freed.
constexpr GradientInput ShapeOf(const char* name) {
  return {name, true};
}

// Declares the gradient op <forward op><suffix>; its schema, shape function and
// maker are derived from this and from the forward op's schema. Lists of names
// end at the first null.
//   constexpr GradientOp kGatherGrad = {
//       .forward = GatherSchema,
//       .doc = "Each slice of X gets the sum of those picked from it.",
//       .inputs = {ShapeOf("X"), "Index"},
//       .dims = GatheredDims};
//   REGISTER_OPERATOR(gather, WithGradient<kGatherGrad>);
//   REGISTER_OPERATOR(gather_grad, GradientSchema<kGatherGrad>);
struct GradientOp {
  using Names = std::array<const char*, 8>;

  // Fills the schema of the forward op. Null in rows of tables, which have the
  // schema itself.
  void (*forward)(OpSchema& op) = nullptr;
  const char* doc = "";
  const char* suffix = "_grad";
  // The inputs of the gradient op are these inputs and outputs of the forward
  // op, <Out>@GRAD for each of `output_grads`, and the operands of attributes.
  // Its outputs are <X>@GRAD for each of `wanted`. All have the dtype, the rows
  // and the layout of the forward op's argument, but gradients are floats. Of
  // several gradients, each is optional.
  std::array<GradientInput, 9> inputs = {};
  Names outputs = {};
  Names output_grads = {"Out"};
  Names wanted = {"X"};
  // Attributes of the forward op that the gradient op lacks.
  Names without = {};
  // Checks the op's inputs and returns the shape that `outputs` and
  // `output_grads` have. If it is null, `output_grads` and `wanted` have one
  // shape. Gradients have the shape of their input.
  DDim (*dims)(const InferShapeContext& context) = nullptr;
  // Replaces the shape function that is derived.
  OpSchema::ShapeFn shape = nullptr;
  // Adds to the schema what the forward op does not determine.
  void (*add)(OpSchema& op) = nullptr;
};

// Fills the schema of a gradient op, without a shape function if
// `gradient.shape` is null. Raises Internal if the forward op lacks an
// argument.
SLUICE_API void DeriveGradient(const OpSchema& forward,
                               const GradientOp& gradient,
                               OpSchema& op);
SLUICE_API void InferGradientShapes(const GradientOp& gradient,
                                    InferShapeContext& context);
SLUICE_API OpDesc MakeGradient(const OpDesc& forward,
                               const GradientOp& gradient);

template <const GradientOp& kGradient>
void GradientShape(InferShapeContext& context) {
  InferGradientShapes(kGradient, context);
}

// For OpSchema::Gradient.
template <const GradientOp&... kGradients>
std::vector<OpDesc> MakeGradients(const OpDesc& forward) {
  return {MakeGradient(forward, kGradients)...};
}

// For REGISTER_OPERATOR: the schema of the gradient op, and that of a forward
// op with these gradient ops.
template <const GradientOp& kGradient>
void GradientSchema(OpSchema& op) {
  OpSchema forward(op.name());
  kGradient.forward(forward);
  op.InferShape(GradientShape<kGradient>);
  DeriveGradient(forward, kGradient, op);
}
template <const GradientOp& kGradient, const GradientOp&... kOthers>
void WithGradient(OpSchema& op) {
  kGradient.forward(op);
  op.Gradient(MakeGradients<kGradient, kOthers...>);
}

// Returns a gradient op for ops whose gradient an existing op computes: op
// `type` reads Out@GRAD as X and writes the gradient of variable `x` as Out.
inline OpDesc GradientThrough(const OpDesc& forward,
                              const std::string& x,
                              std::string type,
                              AttributeMap attributes) {
  OpDesc grad;
  grad.type = std::move(type);
  grad.inputs = {{"X", {GradName(forward.Output("Out").at(0))}}};
  grad.outputs = {{"Out", {GradName(x)}}};
  grad.attributes = std::move(attributes);
  grad.hint = forward.hint;
  grad.location = forward.location;
  return grad;
}

}  // namespace sluice
