#pragma once

#include <string>
#include <vector>

#include "tests/framework/program/gradient_test_ops.h"
#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/program/backward.h"
#include "sluice/framework/program/program_io.h"

namespace sluice::testing {

using Lines = std::vector<std::string>;

// "Out, ... = type(In, ...)", with names only.
inline std::string Line(const OpDesc& op) {
  const auto join = [](const auto& arguments) {
    std::string text;
    for (const auto& [argument, vars] : arguments) {
      for (const std::string& var : vars) {
        text += (text.empty() ? "" : ", ") + var;
      }
    }
    return text;
  };
  return join(op.outputs) + " = " + op.type + "(" + join(op.inputs) + ")";
}

// A program of test ops over data x and persistables w and v, all [3].
class BackwardTest : public ::testing::Test {
 protected:
  BackwardTest() {
    UseTestOps();
    UseGradientTestOps();
    program_.Data("x", DType::kFloat32, {3});
    program_.Persistable("w", DType::kFloat32, {3});
    program_.Persistable("v", DType::kFloat32, {3});
  }

  void Op(std::string_view type,
          const ArgVars& inputs,
          const ArgVars& outputs,
          Program* program = nullptr) {
    const OpSchema& schema = Registry::Global().Schema(type);
    const auto bind = [](const auto& defs, const ArgVars& vars) {
      Program::ArgList arguments;
      for (size_t i = 0; i < vars.size(); ++i) {
        arguments.push_back({defs[i].name, {vars[i]}});
      }
      return arguments;
    };
    (program == nullptr ? program_ : *program)
        .AppendOp(type, bind(schema.inputs(), inputs), {}, {"net.cc", 7},
                  bind(schema.outputs(), outputs));
  }

  // The ops that AppendBackward appends.
  Lines Backward(const std::string& loss, const BackwardOptions& options = {}) {
    const size_t before = program_.block().ops.size();
    grads_.clear();
    for (const ParamGrad& pair : AppendBackward(program_, loss, options)) {
      grads_.push_back(pair.param + ": " + pair.grad);
    }
    Lines lines;
    for (size_t i = before; i < program_.block().ops.size(); ++i) {
      const OpDesc& op = program_.block().ops[i];
      EXPECT_EQ(op.purpose, OpPurpose::kBackward);
      lines.push_back(Line(op));
    }
    return lines;
  }

  void ExpectRefused(ErrorCode code,
                     std::string_view id,
                     std::initializer_list<std::string_view> fragments,
                     const std::string& loss,
                     const BackwardOptions& options = {}) {
    const std::string before = SerializeProgram(program_);
    const uint64_t version = program_.version();
    ExpectError(code, id, fragments, [&] {
      AppendBackward(program_, loss, options, {"me.cc", 5});
    });
    EXPECT_EQ(SerializeProgram(program_), before);
    EXPECT_EQ(program_.version(), version);
  }

  Program program_;
  Lines grads_;
};

}  // namespace sluice::testing
