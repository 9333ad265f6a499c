#include "sluice/framework/op/op_desc.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(OpDescTest, FindsTheVariablesOfAnArgument) {
  OpDesc op;
  op.inputs = {{"X", {"a", "b"}}, {"Y", {"c"}}};
  op.outputs = {{"X", {"d"}}};
  EXPECT_EQ(op.Input("X"), (ArgVars{"a", "b"}));
  EXPECT_EQ(op.Input("Y"), ArgVars{"c"});
  EXPECT_EQ(op.Output("X"), ArgVars{"d"});
  EXPECT_TRUE(op.Input("Z").empty());
  EXPECT_TRUE(op.Output("Y").empty());
}

TEST(OpDescTest, KnowsTheCallersLine) {
  const SourceLocation here = SourceLocation::Here();
  EXPECT_EQ(here.line, __LINE__ - 1);
  EXPECT_NE(here.file.find("op_desc_test.cc"), std::string::npos);
}

}  // namespace
}  // namespace sluice
