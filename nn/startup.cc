#include "sluice/nn/startup.h"

#include <utility>
#include <vector>

#include "sluice/nn/check.h"

namespace sluice::nn {

namespace {

// The latest Startup of the thread; each knows the one before it.
thread_local Startup* current_startup = nullptr;

Program& ProgramOf(std::string_view type,
                   const Var& input,
                   const SourceLocation& location) {
  OpDesc op;
  op.type = type;
  op.location = location;
  return Program::CommonOf(op, {&input});
}

}  // namespace

Startup::Startup() : outer_(std::exchange(current_startup, this)) {}

Startup::~Startup() {
  Startup** link = &current_startup;
  while (*link != nullptr && *link != this) {
    link = &(*link)->outer_;
  }
  if (*link == this) *link = outer_;
}

Startup& Startup::Current(std::string_view asker,
                          const SourceLocation& location) {
  Require(current_startup != nullptr, location, ErrorCode::kFailedPrecondition,
          "nn.startup",
          "{}: this thread has no nn::Startup for first values: make one "
          "before the layers, and keep it until the optimizer is done",
          asker);
  return *current_startup;
}

std::string Startup::Generate(const std::string& key, const Program& program) {
  int& count = counts_[key];
  std::string name;
  do {
    name = Format("{}_{}", key, count++);
  } while (program.HasVar(name));
  return name;
}

LayerHelper::LayerHelper(std::string_view type,
                         const Var& input,
                         const std::string& name,
                         const SourceLocation& location)
    : LayerHelper(type, ProgramOf(type, input, location), name, location) {}

LayerHelper::LayerHelper(std::string_view type,
                         Program& program,
                         const std::string& name,
                         const SourceLocation& location)
    : program_(program),
      startup_(Startup::Current(type, location)),
      location_(location),
      name_(name.empty() ? startup_.Generate(std::string(type), program)
                         : name) {}

Var LayerHelper::Parameter(const ParamAttr& attr,
                           const DDim& dims,
                           DType dtype,
                           const Initializer& first) {
  const Initializer& own = attr.initializer ? attr.initializer : first;
  return Persistable(
      attr.name.empty() ? startup_.Generate(name_ + ".w", program_) : attr.name,
      dims, dtype, own ? own : Xavier(), attr.trainable);
}

Var LayerHelper::Bias(const std::optional<ParamAttr>& attr,
                      const DDim& dims,
                      DType dtype) {
  if (!attr) return {};
  ParamAttr named = *attr;
  if (named.name.empty()) {
    named.name = startup_.Generate(name_ + ".b", program_);
  }
  return Parameter(named, dims, dtype, Constant());
}

Var LayerHelper::Persistable(const std::string& name,
                             const DDim& dims,
                             DType dtype,
                             const Initializer& first,
                             bool trainable) {
  Require(dims.known(), location_, ErrorCode::kInvalidArgument,
          "nn.parameter_dims",
          "parameter {} needs a shape that is known, got {}", name, dims);
  if (program_.HasVar(name)) {
    const VarDesc& known = program_.FindVar(name);
    Require(known.dims == dims && known.dtype == dtype && known.persistable,
            location_, ErrorCode::kInvalidArgument, "nn.shared_parameter",
            "parameter {} is {} {}; it cannot be shared as {} {}", name,
            known.dtype, known.dims, dtype, dims);
  } else {
    program_.Persistable(name, dtype, dims);
  }
  if (!trainable) program_.SetStopGradient(name, true);
  if (!startup_.HasVar(name)) {
    InitialOp op = first(dims);
    op.attributes["shape"] = std::vector<int64_t>(dims.begin(), dims.end());
    op.attributes["dtype"] = dtype;
    startup_.Program::Persistable(name, dtype, dims);
    startup_.AppendOp(op.type, {}, std::move(op.attributes), location_,
                      {{"Out", {name}}});
  }
  return program_.Find(name);
}

Var LayerHelper::Append(std::string_view type,
                        const Program::ArgList& inputs,
                        AttributeMap attributes,
                        Program::ArgList outputs) {
  Program::ArgList given;
  for (const auto& input : inputs) {
    if (!input.second.empty() && !input.second[0].empty()) {
      given.push_back(input);
    }
  }
  const OpDesc& op =
      program_.AppendOp(type, std::move(given), std::move(attributes),
                        location_, std::move(outputs));
  return program_.Output(op.outputs.at(0).first);
}

Var LayerHelper::Activate(const Var& x, const std::string& act) {
  return act.empty() ? x : Append(act, {{"X", {x.name()}}});
}

}  // namespace sluice::nn
