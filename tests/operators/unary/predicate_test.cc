#include <set>
#include <string>

#include <gtest/gtest.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/operators/unary/predicate_row.h"

namespace sluice {
namespace {

// A new row is sufficient for a complete op.
TEST(Predicate, EveryRowIsAnOpThatSaysWhatItIsElsewhere) {
  std::set<std::string> names;
  for (const PredicateInfo& info : Predicates()) {
    SCOPED_TRACE(info.name);
    EXPECT_TRUE(names.insert(info.name).second);
    const OpSchema& schema = Registry::Global().Schema(info.name);
    EXPECT_EQ(schema.doc(), info.doc);
    EXPECT_EQ(schema.onnx().op_type, info.onnx);
    EXPECT_EQ(schema.torch(), info.torch);
    EXPECT_TRUE(schema.elementwise());
    EXPECT_EQ(schema.gradient_fn(), nullptr);
  }
}

}  // namespace
}  // namespace sluice
