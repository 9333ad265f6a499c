#include <set>
#include <string>

#include <gtest/gtest.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/operators/math/binary/binary_row.h"

// Properties of all rows.
namespace sluice {
namespace {

// A new row is sufficient for a complete op.
TEST(Binary, EveryRowIsAnOpThatSaysWhatItIsElsewhere) {
  std::set<std::string> names;
  for (const BinaryRow& row : BinaryRows()) {
    SCOPED_TRACE(row.info.name);
    EXPECT_TRUE(names.insert(row.info.name).second);
    const OpSchema& schema = Registry::Global().Schema(row.info.name);
    EXPECT_TRUE(schema.doc().starts_with(row.info.doc));
    EXPECT_EQ(schema.onnx().op_type, row.info.onnx);
    EXPECT_EQ(schema.torch(), row.info.torch);
    EXPECT_TRUE(schema.elementwise());
    EXPECT_EQ(schema.gradient_fn() != nullptr, row.info.differentiable());
    EXPECT_EQ(FindBinaryRow(row.info.name), &row);
  }
  EXPECT_EQ(FindBinaryRow("conv2d"), nullptr);
}

// An input that a gradient does not read need not be kept until then.
TEST(Binary, GradientsReadNoMoreThanTheyNeed) {
  const auto shape_only = [](const char* op, const char* input) {
    return Registry::Global().Schema(op).FindInput(input)->traits.shape_only;
  };
  for (const char* op : {"elementwise_add_grad", "elementwise_sub_grad"}) {
    EXPECT_TRUE(shape_only(op, "X")) << op;
    EXPECT_TRUE(shape_only(op, "Y")) << op;
  }
  EXPECT_FALSE(shape_only("elementwise_mul_grad", "X"));
  EXPECT_FALSE(shape_only("elementwise_mul_grad", "Y"));
  EXPECT_TRUE(shape_only("elementwise_div_grad", "X"));
  EXPECT_FALSE(shape_only("elementwise_div_grad", "Y"));
  const auto& registry = Registry::Global();
  EXPECT_NE(registry.Schema("elementwise_div_grad").FindInput("Out"), nullptr);
  EXPECT_EQ(registry.Schema("elementwise_mul_grad").FindInput("Out"), nullptr);
  const auto& add = registry.Schema("elementwise_add_grad");
  EXPECT_EQ(add.FindOutput("X@GRAD")->aliases, "Out@GRAD");
  EXPECT_EQ(add.FindOutput("Y@GRAD")->aliases, "Out@GRAD");
  const auto& sub = registry.Schema("elementwise_sub_grad");
  EXPECT_EQ(sub.FindOutput("X@GRAD")->aliases, "Out@GRAD");
  EXPECT_EQ(sub.FindOutput("Y@GRAD")->aliases, "");
}

}  // namespace
}  // namespace sluice
