#include "sluice/framework/op/op_schema.h"

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/op/infer_shape_context.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;

void NoShapes(InferShapeContext&) {}

OpSchema Valid() {
  OpSchema op("valid");
  op.TypeVar("T", {DType::kFloat32});
  op.Input("X", "T", "").Output("Out", "T", "").InferShape(NoShapes);
  return op;
}

TEST(OpSchemaTest, FindsItsParts) {
  OpSchema op = Valid();
  op.Attr<double>("scale", "The factor.").Default(2.0);
  op.Validate();
  EXPECT_EQ(op.FindInput("X")->dtype, "T");
  EXPECT_EQ(op.FindInput("Out"), nullptr);
  EXPECT_EQ(op.FindOutput("Out")->name, "Out");
  EXPECT_EQ(op.FindAttr("scale")->type, AttrType::kFloat);
  EXPECT_EQ(op.FindAttr("scale")->doc, "The factor.");
  EXPECT_EQ(op.FindAttr("X"), nullptr);
}

TEST(OpSchemaTest, NeedsAShapeFunction) {
  OpSchema op("shapeless");
  ExpectError(ErrorCode::kInternal, "schema.shape_function", {"shapeless"},
              [&] { op.Validate(); });
}

TEST(OpSchemaTest, RefusesTwoThingsOfOneName) {
  OpSchema arguments = Valid();
  arguments.Output("X", "T", "");
  ExpectError(ErrorCode::kInternal, "schema.name_twice", {"valid", "X"},
              [&] { arguments.Validate(); });
  OpSchema attribute = Valid();
  attribute.Attr<bool>("Out", "");
  ExpectError(ErrorCode::kInternal, "schema.attribute_twice", {"Out"},
              [&] { attribute.Validate(); });
}

TEST(OpSchemaTest, RefusesArgumentsOfUnknownDType) {
  OpSchema op = Valid();
  op.Input("Y", "U", "");
  EXPECT_THROW(op.Validate(), Error);
}

TEST(OpSchemaTest, RefusesFactsAboutWhatItDoesNotHave) {
  OpSchema permuted = Valid();
  permuted.Permutes("order");
  ExpectError(ErrorCode::kInternal, "schema.permutes", {"order"},
              [&] { permuted.Validate(); });
  OpSchema sized = Valid();
  sized.Sizes({{"Z", "64, n"}});
  ExpectError(ErrorCode::kInternal, "schema.sizes", {"Z"},
              [&] { sized.Validate(); });
}

TEST(OpSchemaTest, AFilterIsNoImage) {
  OpSchema op = Valid();
  op.Input("Filter", "T", "", {.keeps_layout = true});
  const DDim image({1, 2, 3, 4});
  EXPECT_TRUE(op.IsImage("X", image));
  EXPECT_TRUE(op.IsImage("Out", image));
  EXPECT_FALSE(op.IsImage("Filter", image));
  EXPECT_FALSE(op.IsImage("X", DDim({1, 2, 3})));
}

TEST(OpSchemaTest, AnExtendedOpIsNotReplacedAsItsBaseIs) {
  OpSchema base = Valid();
  base.Product().FusedAs("fused").Sizes({{"X", "n"}});
  base.Family("conv").ShortName("b");
  OpSchema op("extended");
  op.Family("fusion").Extends(base);
  EXPECT_TRUE(op.product());
  EXPECT_EQ(op.family(), "conv");
  EXPECT_EQ(op.short_name(), "extended");
  EXPECT_EQ(op.fused_type(), "");
  EXPECT_EQ(op.sizes(), base.sizes());
}

TEST(OpSchemaTest, RefusesOutputsThatShareWithNoInput) {
  OpSchema op = Valid();
  op.Alias("Out", "Z");
  ExpectError(ErrorCode::kInternal, "schema.shared_input", {"Out", "Z"},
              [&] { op.Validate(); });
  OpSchema other = Valid();
  ExpectError(ErrorCode::kInternal, "schema.no_such_output", {"valid", "Y"},
              [&] { other.Update("Y", "X"); });
}

TEST(OpSchemaTest, RefusesDefaultsOfAnotherType) {
  OpSchema op = Valid();
  ExpectError(ErrorCode::kInternal, "schema.default_type", {"axis", "int"},
              [&] { op.Attr<int64_t>("axis", "").Default(0.5); });
}

TEST(OpSchemaTest, RefusesATypeVariableFromAnAttributeThatIsNoDType) {
  OpSchema op = Valid();
  op.Attr<int64_t>("to", "").Default(int64_t{0});
  op.TypeVarFromAttr("U", "to", {DType::kInt8});
  ExpectError(ErrorCode::kInternal, "schema.type_var_attribute", {"U", "to"},
              [&] { op.Validate(); });
}

TEST(OpSchemaTest, MakesTheUsualGradientOp) {
  OpDesc forward;
  forward.type = "crop";
  forward.inputs = {{"X", {"x"}}, {"Y", {"y"}}};
  forward.outputs = {{"Out", {"o"}}};
  forward.attributes["offsets"] = std::vector<int64_t>{1};
  forward.location = {"main.cc", 7};
  const std::vector<OpDesc> grads = MakeGradOp(forward, {"X", "Offsets"});
  ASSERT_EQ(grads.size(), 1u);
  EXPECT_EQ(grads[0].type, "crop_grad");
  EXPECT_EQ(grads[0].Input("X"), ArgVars{"x"});
  EXPECT_EQ(grads[0].Input("Out@GRAD"), ArgVars{"o@GRAD"});
  EXPECT_EQ(grads[0].Output("X@GRAD"), ArgVars{"x@GRAD"});
  EXPECT_EQ(grads[0].outputs.size(), 1u);
  EXPECT_EQ(grads[0].attributes, forward.attributes);
  EXPECT_EQ(grads[0].location.line, 7);
}

}  // namespace
}  // namespace sluice
