#include "sluice/framework/program/backward.h"

#include <algorithm>
#include <new>
#include <utility>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/program/block_gradients.h"
#include "sluice/framework/program/gradient_flow.h"
#include "sluice/framework/program/gradient_ops.h"
#include "sluice/framework/program/value_table.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

// Whether `op` begins the gradients of `loss`: it fills loss@GRAD, or that name
// with a number appended.
bool Begins(const OpDesc& op, const std::string& loss) {
  if (op.purpose != OpPurpose::kBackward) return false;
  if (Registry::Global().Schema(op.type).role() != OpRole::kFill) return false;
  const std::string& out = op.Output("Out")[0];
  const std::string grad = GradName(loss);
  if (out.compare(0, grad.size(), grad) != 0) return false;
  const std::string_view rest = std::string_view(out).substr(grad.size());
  return rest.empty() ||
         rest.find_first_not_of("@0123456789") == std::string_view::npos;
}

void CheckLoss(const Program& program, const std::string& loss) {
  const VarDesc& var = program.FindVar(loss);
  SLUICE_ENFORCE(IsFloating(var.dtype), ErrorCode::kInvalidArgument,
                 "backward.loss_dtype", "loss {} must be a float, got {}", loss,
                 var.dtype);
  SLUICE_ENFORCE(var.dims == DDim() || var.dims == DDim({1}),
                 ErrorCode::kInvalidArgument, "backward.loss_shape",
                 "loss {} must be a scalar, of shape [] or [1], got {}", loss,
                 var.dims);
  for (const OpDesc& op : program.block().ops) {
    SLUICE_ENFORCE(!Begins(op, loss), ErrorCode::kInvalidArgument,
                   "backward.twice",
                   "the program has the gradients of loss {} already", loss);
  }
}

void CheckParameter(const VarDesc& var, const GradientFlow::Request& request) {
  SLUICE_ENFORCE(IsFloating(var.dtype), ErrorCode::kInvalidArgument,
                 "backward.parameter_dtype",
                 "parameter {} is {}; only floats have gradients", var.name,
                 var.dtype);
  SLUICE_ENFORCE(
      !var.stop_gradient && request.stops.count(var.name) == 0,
      ErrorCode::kInvalidArgument, "backward.parameter_stops",
      "parameter {} stops gradients, so it cannot have one{}", var.name,
      var.is_data ? ": data does unless its stop_gradient is false" : "");
}

void CheckAnyBlockHas(const Program& program, const std::string& name) {
  const bool known =
      std::any_of(program.blocks().begin(), program.blocks().end(),
                  [&](const auto& block) { return block.FindVar(name); });
  if (!known) program.FindVar(name);  // raises
}

GradientFlow::Request MakeRequest(const Program& program,
                                  const std::string& loss,
                                  const BackwardOptions& options) {
  GradientFlow::Request request;
  request.loss = loss;
  request.targets = {loss};
  for (const std::string& name : options.no_gradient) {
    request.stops.insert(program.FindVar(name).name);
  }
  for (const auto& [name, op] : options.gradient_ops) {
    CheckAnyBlockHas(program, name);
  }
  request.gradient_ops = options.gradient_ops;
  for (const std::string& name : options.parameters) {
    CheckParameter(program.FindVar(name), request);
    if (std::find(request.parameters.begin(), request.parameters.end(), name) ==
        request.parameters.end()) {
      request.parameters.push_back(name);
    }
  }
  if (!options.parameters.empty()) return request;
  for (const VarDesc& var : program.block().vars()) {
    if (var.persistable && IsFloating(var.dtype) && !var.stop_gradient &&
        request.stops.count(var.name) == 0) {
      request.parameters.push_back(var.name);
    }
  }
  return request;
}

std::vector<ParamGrad> Append(Program& program,
                              const std::string& loss,
                              const BackwardOptions& options,
                              const SourceLocation& location) {
  CheckLoss(program, loss);
  const GradientFlow::Request request = MakeRequest(program, loss, options);
  const ValueTable values(program.block());
  const GradientFlow flow(program.block(), values, request);
  const int target = values.Latest(loss);
  if (target < 0 || !flow.Needs(target)) flow.FailNoPath("");
  Program appended(program);
  GradientLevel level;
  level.sparse = options.sparse;
  GradientOps gradients(program.block(), values, flow, &appended, &level);
  gradients.Seed(target, gradients.Fill(GradName(loss), program.FindVar(loss),
                                        1, location));
  gradients.Make();
  gradients.Flush();
  std::vector<ParamGrad> result;
  for (size_t i = 0; i < request.parameters.size(); ++i) {
    const std::string& name = request.parameters[i];
    std::string grad = gradients.GradOf(flow.parameters()[i]);
    if (!grad.empty()) {
      result.push_back({name, std::move(grad)});
    } else if (!options.parameters.empty()) {
      flow.FailNoPath(name);
    }
  }
  if (result.empty()) flow.FailNoPath("");
  program = std::move(appended);
  return result;
}

}  // namespace

std::vector<ParamGrad> AppendBackward(Program& program,
                                      const std::string& loss,
                                      const BackwardOptions& options,
                                      const SourceLocation& location) {
  try {
    return Append(program, loss, options, location);
  } catch (Error& error) {
    AddLocation(location, &error);
    throw;
  } catch (const std::bad_alloc&) {
    RaiseOutOfMemory();
  }
}

std::vector<ParamGrad> AppendBackward(const Var& loss,
                                      const BackwardOptions& options,
                                      const SourceLocation& location) {
  return AppendBackward(loss.program(), loss.name(), options, location);
}

}  // namespace sluice
