#include <gtest/gtest.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

TEST(FillConstant, IsTheFrameworksFill) {
  EXPECT_EQ(Registry::Global().Schema("fill_constant").role(), OpRole::kFill);
}

}  // namespace
}  // namespace sluice
