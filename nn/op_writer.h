#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/framework/program/program.h"

// What layers and optimizers are made of. Internal to nn.
namespace sluice::nn {

// Sets the purpose of the ops that are appended during its lifetime.
class PurposeGuard {
 public:
  PurposeGuard(Program& program, OpPurpose purpose)
      : program_(program), before_(program.purpose()) {
    program.SetPurpose(purpose);
  }
  ~PurposeGuard() { program_.SetPurpose(before_); }
  PurposeGuard(const PurposeGuard&) = delete;
  PurposeGuard& operator=(const PurposeGuard&) = delete;

 private:
  Program& program_;
  OpPurpose before_;
};

// Appends ops without parameters to a program, all for one line of the user.
// Each function returns the op's first output, or writes it to `out`.
class OpWriter {
 public:
  OpWriter(Program& program, const SourceLocation& location)
      : program_(program), location_(location) {}

  Program& program() const { return program_; }
  Var Append(std::string_view type,
             Program::ArgList inputs,
             AttributeMap attributes = {},
             Program::ArgList outputs = {}) const {
    const OpDesc& op =
        program_.AppendOp(type, std::move(inputs), std::move(attributes),
                          location_, std::move(outputs));
    return program_.Output(op.outputs.at(0).first);
  }
  Var Unary(std::string_view type,
            const Var& x,
            AttributeMap attributes = {}) const {
    return Append(type, {{"X", {x.name()}}}, std::move(attributes));
  }
  Var Binary(std::string_view type, const Var& x, const Var& y) const {
    return Append(type, {{"X", {x.name()}}, {"Y", {y.name()}}});
  }
  Var Scale(const Var& x, double scale, double bias = 0) const {
    return Unary("scale", x, {{"scale", scale}, {"bias", bias}});
  }
  Var Cast(const Var& x, DType dtype) const {
    return x.dtype() == dtype ? x : Unary("cast", x, {{"dtype", dtype}});
  }
  // One element as a scalar, which goes with every shape.
  Var Scalar(const Var& x) const {
    return Unary("reshape", x, {{"shape", std::vector<int64_t>()}});
  }
  Var Fill(double value, DType dtype, const std::vector<int64_t>& dims) const {
    return Append("fill_constant", {},
                  {{"shape", dims}, {"dtype", dtype}, {"value", value}});
  }
  void Assign(const Var& x, const Var& out) const {
    Append("assign", {{"X", {x.name()}}}, {}, {{"Out", {out.name()}}});
  }
  Var Where(const Var& condition,
            const Var& x,
            const Var& y,
            const Var& out = {}) const {
    Program::ArgList outputs;
    if (out.valid()) outputs.push_back({"Out", {out.name()}});
    return Append("where",
                  {{"Condition", {condition.name()}},
                   {"X", {x.name()}},
                   {"Y", {y.name()}}},
                  {}, std::move(outputs));
  }

 private:
  Program& program_;
  SourceLocation location_;
};

}  // namespace sluice::nn
