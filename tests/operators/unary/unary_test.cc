#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/run/run_op.h"
#include "sluice/operators/math/unary/unary_row.h"

namespace sluice {
namespace {

std::vector<float> Apply(const std::string& op,
                         const std::vector<float>& x,
                         const AttributeMap& attributes = {}) {
  const Tensor tensor =
      Tensor::FromVector<float>({static_cast<int64_t>(x.size())}, x);
  return RunOp(op, {{"X", tensor}}, attributes)["Out"].ToVector<float>();
}

TEST(Unary, NaNStaysNaN) {
  for (const UnaryRow& row : UnaryRows()) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(Apply(row.info.name, {nan, 1})[0])) << row.info.name;
  }
}

// A new row is sufficient for a complete op.
TEST(Unary, EveryRowIsAnOpThatSaysWhatItIsElsewhere) {
  std::set<std::string> names;
  for (const UnaryRow& row : UnaryRows()) {
    SCOPED_TRACE(row.info.name);
    EXPECT_TRUE(names.insert(row.info.name).second);
    const OpSchema& schema = Registry::Global().Schema(row.info.name);
    EXPECT_EQ(schema.doc(), row.info.doc);
    EXPECT_EQ(schema.onnx().op_type, row.info.onnx);
    EXPECT_EQ(schema.torch(), row.info.torch);
    EXPECT_TRUE(schema.elementwise());
    const std::string said = row.info.family;
    EXPECT_EQ(schema.family(), said.empty() ? "unary" : said);
    EXPECT_EQ(Registry::Global().Schema(schema.name() + "_grad").family(),
              schema.family());
    EXPECT_EQ(FindUnaryRow(row.info.name), &row);
  }
  EXPECT_EQ(FindUnaryRow("conv2d"), nullptr);
}

}  // namespace
}  // namespace sluice
