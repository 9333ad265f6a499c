#include "sluice/framework/choice/op_signature.h"

#include <gtest/gtest.h>

#include "sluice/framework/op/op_schema.h"

namespace sluice {
namespace {

class OpSignatureTest : public ::testing::Test {
 protected:
  OpSignatureTest() : schema_("op") {
    schema_.Input("X", "T", "");
    schema_.Input("Many", "T", "", {.variadic = true});
    schema_.Output("Out", "T", "");
    schema_.Attr<int64_t>("axis", "").Default(int64_t{-1});
    schema_.Attr<std::string>("mode", "").Default(std::string("fast"));
    op_.schema = &schema_;
    op_.desc.type = "op";
    op_.desc.inputs = {{"X", {"a"}}, {"Many", {"b", "c"}}};
    op_.desc.outputs = {{"Out", {"d"}}};
    op_.desc.attributes["axis"] = int64_t{-1};
    op_.desc.attributes["mode"] = std::string("fast");
    op_.inputs = {DDim({2, 3}), DDim({4}), DDim()};
    op_.input_dtypes = {DType::kFloat32, DType::kInt64, DType::kFloat32};
    op_.input_constant = {0, 1, 0};
    op_.outputs = {DDim({2, 0})};
    op_.output_dtypes = {DType::kBFloat16};
  }
  OpSchema schema_;
  OpFacts op_;
};

TEST_F(OpSignatureTest, HasDTypesShapesAndWhatIsConstant) {
  EXPECT_EQ(OpSignature(op_),
            "op(X float32[2,3], Many int64[4] constant, Many float32[]) -> "
            "Out bfloat16[2,0]");
}

TEST_F(OpSignatureTest, HasTheAttributesThatAreNotDefaults) {
  op_.desc.attributes["axis"] = int64_t{1};
  EXPECT_EQ(OpSignature(op_).substr(OpSignature(op_).find('{')), "{axis=1}");
  op_.desc.attributes["mode"] = std::string("slow");
  const std::string text = OpSignature(op_);
  EXPECT_NE(text.find("axis=1, mode="), std::string::npos) << text;
}

TEST_F(OpSignatureTest, NamesOfVariablesDoNotCount) {
  const std::string before = OpSignature(op_);
  op_.desc.inputs[1].second = {"other", "names"};
  op_.id = 7;
  EXPECT_EQ(OpSignature(op_), before);
}

// Equal shapes of other arguments.
TEST_F(OpSignatureTest, SaysWhichArgumentsAreThere) {
  const std::string before = OpSignature(op_);
  op_.desc.inputs = {{"Many", {"a", "b", "c"}}};
  EXPECT_NE(OpSignature(op_), before);
}

}  // namespace
}  // namespace sluice
