#include "sluice/operators/op_gradients.h"

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using sluice::testing::ExpectError;
using Names = std::vector<std::string>;

DDim IndexDims(const InferShapeContext& context) {
  return context.WithRank(context.input("Index"), 1);
}

void PickSchema(OpSchema& op) {
  op.TypeVar("U", AllDTypes()).TypeVar("T", AllDTypes());
  op.TypeVar("S", IndexDTypes());
  op.Input("X", "T", "The table.").Input("Index", "S", "", {.host = true});
  op.Input("Unused", "U", "").Output("Out", "T", "");
  op.Attr<int64_t>("axis", "Which dim.").Default(int64_t{2}).AtLeast(1);
  op.Attr<bool>("sparse", "").Default(false);
  op.Operand("Axis", "axis", "S", "").DimAttribute("axis");
  op.Ragged("X", "Index");
}

constexpr GradientOp kPickGrad = {.forward = PickSchema,
                                  .doc = "The gradient.",
                                  .inputs = {ShapeOf("X"), "Index"},
                                  .without = {"sparse"},
                                  .dims = IndexDims};

OpSchema PickGrad() {
  OpSchema op("pick_grad");
  GradientSchema<kPickGrad>(op);
  op.Validate();
  return op;
}

Names NamesOf(const std::vector<ArgDef>& arguments) {
  Names names;
  for (const ArgDef& def : arguments) {
    names.push_back(def.name);
  }
  return names;
}

TEST(OpGradients, HaveTheArgumentsOfTheForwardOp) {
  const OpSchema op = PickGrad();
  EXPECT_EQ(NamesOf(op.inputs()), (Names{"X", "Index", "Out@GRAD", "Axis"}));
  EXPECT_EQ(NamesOf(op.outputs()), Names{"X@GRAD"});
  EXPECT_EQ(op.FindInput("X")->doc, "X of pick. The table.");
  EXPECT_TRUE(op.FindInput("X")->traits.shape_only);
  EXPECT_FALSE(op.FindInput("Index")->traits.shape_only);
  EXPECT_TRUE(op.FindInput("Index")->traits.host);
  EXPECT_FALSE(op.FindOutput("X@GRAD")->traits.optional);
  EXPECT_EQ(op.rows("X").offsets, "Index");
}

TEST(OpGradients, AreOfFloats) {
  const OpSchema op = PickGrad();
  ASSERT_EQ(op.type_vars().size(), 2u);
  EXPECT_EQ(op.type_vars()[0].name, "T");
  EXPECT_EQ(op.type_vars()[0].allowed.size(), FloatDTypes().size());
  EXPECT_EQ(op.type_vars()[1].allowed, IndexDTypes());
}

TEST(OpGradients, HaveTheAttributesOfTheForwardOp) {
  const OpSchema op = PickGrad();
  ASSERT_EQ(op.attributes().size(), 1u);
  const AttrDef& axis = op.attributes()[0];
  EXPECT_EQ(axis.type, AttrType::kInt);
  EXPECT_EQ(axis.doc, "Which dim.");
  EXPECT_EQ(std::get<int64_t>(*axis.default_value), 2);
  EXPECT_EQ(axis.minimum, 1);
  EXPECT_EQ(op.FindInput("Axis")->attribute, "axis");
  EXPECT_EQ(op.dim_attributes(), Names{"axis"});
}

TEST(OpGradients, AreMadeOfWhatTheyRead) {
  OpDesc forward;
  forward.type = "pick";
  forward.inputs = {{"X", {"x"}}, {"Index", {"i"}}, {"Unused", {"u"}}};
  forward.outputs = {{"Out", {"o"}}};
  forward.attributes = {{"axis", int64_t{3}}, {"sparse", true}};
  const std::vector<OpDesc> grads = MakeGradients<kPickGrad>(forward);
  ASSERT_EQ(grads.size(), 1u);
  EXPECT_EQ(grads[0].type, "pick_grad");
  EXPECT_EQ(grads[0].inputs.size(), 3u);
  EXPECT_EQ(grads[0].Input("Index"), ArgVars{"i"});
  EXPECT_EQ(grads[0].Input("Out@GRAD"), ArgVars{"o@GRAD"});
  EXPECT_EQ(grads[0].Output("X@GRAD"), ArgVars{"x@GRAD"});
  EXPECT_EQ(grads[0].attributes, (AttributeMap{{"axis", int64_t{3}}}));
}

std::vector<std::vector<DDim>> Infer(const std::vector<DDim>& inputs,
                                     bool axis_is_operand = false) {
  OpDesc op;
  op.type = "pick_grad";
  op.inputs = {{"X", {"x"}}, {"Index", {"i"}}, {"Out@GRAD", {"g"}}};
  op.outputs = {{"X@GRAD", {"y"}}};
  if (axis_is_operand) {
    op.inputs.push_back({"Axis", {"a"}});
  } else {
    op.attributes = {{"axis", int64_t{3}}};
  }
  std::vector<DType> dtypes(inputs.size(), DType::kFloat32);
  return InferShapes(PickGrad(), op, inputs, std::move(dtypes));
}

TEST(OpGradients, HaveTheShapeOfTheirInput) {
  const std::vector<std::vector<DDim>> expected = {{DDim{5, 2}}};
  EXPECT_EQ(Infer({{5, 2}, {3}, {3}}), expected);
  EXPECT_EQ(Infer({{5, 2}, {3}, {4}, {1}}, /*axis_is_operand=*/true), expected);
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.merge_dim",
              {"pick_grad", "Out@GRAD", "3", "4"}, [] {
                Infer({{5, 2}, {3}, {4}});
              });
}

constexpr GradientOp kTwo = {.forward = PickSchema, .wanted = {"X", "Unused"}};

TEST(OpGradients, OfSeveralInputsAreOptional) {
  OpSchema op("two_grad");
  GradientSchema<kTwo>(op);
  EXPECT_FALSE(op.FindInput("Out@GRAD")->traits.optional);
  EXPECT_TRUE(op.FindOutput("X@GRAD")->traits.optional);
  EXPECT_TRUE(op.FindOutput("Unused@GRAD")->traits.optional);
}

TEST(OpGradients, RefuseArgumentsThatTheForwardOpLacks) {
  OpSchema forward("pick");
  PickSchema(forward);
  OpSchema op("pick_grad");
  ExpectError(ErrorCode::kInternal, "op_gradients.no_argument",
              {"pick", "Indices"},
              [&] { DeriveGradient(forward, {.inputs = {"Indices"}}, op); });
}

}  // namespace
}  // namespace sluice
