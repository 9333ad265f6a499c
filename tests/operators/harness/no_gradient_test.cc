#include <iostream>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"

namespace sluice::testing {
namespace {

// Prints the ops without a gradient, by reason.
TEST(NoGradient, EveryOpWithoutAGradientHasAReason) {
  std::map<std::string, std::string> ops;
  for (const std::string& name : Registry::Global().OpNames()) {
    const OpSchema& schema = Registry::Global().Schema(name);
    // AppendBackward goes into the blocks of these.
    if (schema.gradient_fn() != nullptr || schema.holds_blocks()) continue;
    const std::string reason = schema.NoGradientReason();
    EXPECT_NE(reason, "") << name << " has neither Gradient nor NoGradient";
    std::string& list = ops[reason];
    list += (list.empty() ? "" : ", ") + name;
  }
  for (const auto& [reason, names] : ops) {
    std::cout << reason << ":\n  " << names << "\n";
  }
}

std::string ReasonOf(const char* op) {
  return Registry::Global().Schema(op).NoGradientReason();
}

TEST(NoGradient, TheReasonFollowsFromTheArguments) {
  EXPECT_EQ(ReasonOf("relu"), "");
  EXPECT_EQ(ReasonOf("fill_constant"),
            "it computes with no floats that it is given");
  EXPECT_EQ(ReasonOf("arg_max"), "its outputs are not floats");
  EXPECT_EQ(ReasonOf("bitwise_and"), "its outputs are not floats");
  EXPECT_EQ(ReasonOf("sgd"), "it updates Param in place");
  EXPECT_EQ(ReasonOf("relu_grad"),
            "it computes a gradient, and there are none of gradients");
  EXPECT_EQ(ReasonOf("fused_elementwise"), "only plans use it");
  EXPECT_EQ(ReasonOf("bitcast"), "a number changes by jumps with its bits");
}

}  // namespace
}  // namespace sluice::testing
