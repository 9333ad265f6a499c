#include "benchmarks/cuda/op_spec.h"

#include <algorithm>
#include <map>

#include "sluice/framework/op/registry.h"

namespace sluice::bench {

namespace {

constexpr const char* kGrad = "@GRAD";

// Returns "Out" for "Out@GRAD", and other names unchanged.
std::string WithoutGrad(const std::string& name) {
  return name.substr(0, name.find(kGrad));
}

double BytesOf(const VarDesc& var) {
  return static_cast<double>(var.dims.numel()) *
         static_cast<double>(SizeOf(var.dtype));
}

// Whether training lacks the gradient: only the main output has one.
bool IsLeftOut(const std::string& gradient, const std::string& argument) {
  if (!argument.ends_with(kGrad)) return false;
  const std::string output = WithoutGrad(argument);
  for (const char* main : {"Loss", "Out", "Output", "Y"}) {
    if (output == main) return false;
  }
  return Registry::Global()
      .Schema(gradient)
      .FindInput(argument)
      ->traits.optional;
}

std::vector<OpDesc> GradientDescs(const OneOpProgram& forward) {
  const auto make = Registry::Global().Schema(forward.op.type).gradient_fn();
  return make == nullptr ? std::vector<OpDesc>() : make(forward.op);
}

}  // namespace

std::string ToString(Fill::Kind kind) {
  constexpr const char* kNames[] = {"uniform", "index", "runs"};
  return kNames[static_cast<int>(kind)];
}

std::vector<std::string> InputNames(const OpSpec& spec) {
  std::map<std::string, int> count;
  std::vector<std::string> names;
  for (const InputSpec& input : spec.inputs) {
    const int index = count[input.argument]++;
    names.push_back(index == 0 ? input.argument
                               : Format("{}[{}]", input.argument, index));
  }
  return names;
}

const VarDesc& OneOpProgram::Var(const std::string& name) const {
  const VarDesc* var = program.block().FindVar(name);
  if (var == nullptr) {
    Raise(ErrorCode::kNotFound, "bench.no_variable", "{} has no variable {}",
          op.type, name);
  }
  return *var;
}

ArgTraits OneOpProgram::TraitsOf(const std::string& input) const {
  const auto& schema = Registry::Global().Schema(op.type);
  for (const auto& [argument, vars] : op.inputs) {
    if (std::find(vars.begin(), vars.end(), input) != vars.end()) {
      return schema.FindInput(argument)->traits;
    }
  }
  return {};
}

OneOpProgram DescribeForward(const OpSpec& spec) {
  OneOpProgram one;
  OpDesc desc;
  desc.type = spec.op;
  desc.attributes = spec.attributes;
  const std::vector<std::string> names = InputNames(spec);
  for (size_t i = 0; i < names.size(); ++i) {
    const InputSpec& input = spec.inputs[i];
    if (desc.inputs.empty() || desc.inputs.back().first != input.argument) {
      desc.inputs.push_back({input.argument, {}});
    }
    one.program.Data(names[i], input.dtype, input.dims);
    desc.inputs.back().second.push_back(names[i]);
  }
  for (const auto& output : Registry::Global().Schema(spec.op).outputs()) {
    if (!output.traits.optional) {
      desc.outputs.push_back({output.name, {output.name}});
    }
  }
  one.op = one.program.AppendOp(std::move(desc));
  return one;
}

OneOpProgram DescribeGradient(const OneOpProgram& forward,
                              const std::string& gradient) {
  const std::vector<OpDesc> descs = GradientDescs(forward);
  const auto found =
      std::find_if(descs.begin(), descs.end(),
                   [&](const OpDesc& desc) { return desc.type == gradient; });
  if (found == descs.end()) {
    Raise(ErrorCode::kNotFound, "bench.no_gradient", "{} has no gradient op {}",
          forward.op.type, gradient);
  }
  OneOpProgram one;
  OpDesc desc = *found;
  std::erase_if(desc.inputs, [&](const auto& input) {
    return IsLeftOut(gradient, input.first);
  });
  for (const auto& [argument, vars] : desc.inputs) {
    for (const std::string& name : vars) {
      const VarDesc& like = forward.Var(WithoutGrad(name));
      one.program.Data(name, like.dtype, like.dims);
    }
  }
  one.op = one.program.AppendOp(std::move(desc));
  return one;
}

std::vector<std::string> GradientOps(const OneOpProgram& forward) {
  std::vector<std::string> types;
  for (const OpDesc& desc : GradientDescs(forward)) {
    if (std::find(types.begin(), types.end(), desc.type) == types.end()) {
      types.push_back(desc.type);
    }
  }
  return types;
}

double BytesOf(const OneOpProgram& one) {
  double bytes = 0;
  for (const auto& [argument, vars] : one.op.inputs) {
    for (const std::string& name : vars) {
      const ArgTraits traits = one.TraitsOf(name);
      if (!traits.host && !traits.shape_only) bytes += BytesOf(one.Var(name));
    }
  }
  for (const auto& [argument, vars] : one.op.outputs) {
    for (const std::string& name : vars) {
      bytes += BytesOf(one.Var(name));
    }
  }
  return bytes;
}

}  // namespace sluice::bench
