#include "benchmarks/cuda/op_program.h"

#include <algorithm>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/platform/error.h"

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

std::vector<OpDesc> GradientDescs(const OneOp& forward) {
  const OpDesc& desc = DescOf(forward);
  const auto make = Registry::Global().Schema(desc.type).gradient_fn();
  return make == nullptr ? std::vector<OpDesc>() : make(desc);
}

}  // namespace

std::string ToString(Fill::Kind kind) {
  constexpr const char* kNames[] = {"uniform", "index", "runs"};
  return kNames[static_cast<int>(kind)];
}

Tensor Outline(DType dtype, const DDim& dims) {
  static char unread = 0;
  return Tensor::Borrow(CPUPlace(), dtype, dims, &unread);
}

std::vector<FilledInput> InputsOf(const OpExample& example) {
  std::map<std::string, int> count;
  std::vector<FilledInput> inputs;
  for (const ExampleInput& input : example.inputs) {
    const int index = count[input.argument]++;
    FilledInput& filled = inputs.emplace_back();
    filled.argument = input.argument;
    filled.name =
        index == 0 ? input.argument : Format("{}[{}]", input.argument, index);
    if (!input.of_kernel) filled.dtype = input.dtype;
    filled.dims = input.dims;
    filled.fill = {.low = input.low,
                   .high = input.high,
                   .seed = static_cast<uint32_t>(inputs.size())};
    if (input.argument == "Mask") {
      filled.fill.kind = Fill::Kind::kRuns;
    } else if (!IsFloating(filled.dtype)) {
      filled.fill.kind = Fill::Kind::kIndex;
      filled.fill.high += 1;
    }
  }
  return inputs;
}

const OpDesc& DescOf(const OneOp& op) {
  return op.program.block().ops[0];
}

OneOp MakeOp(OpDesc desc, const Tensors& inputs) {
  OneOp made;
  for (const auto& [argument, vars] : desc.inputs) {
    for (const std::string& name : vars) {
      const Tensor& tensor = inputs.at(name);
      made.program.Data(name, tensor.dtype(), tensor.dims());
      made.feeds.emplace_back(name, tensor);
    }
  }
  for (const auto& [argument, vars] :
       made.program.AppendOp(std::move(desc)).outputs) {
    made.fetches.insert(made.fetches.end(), vars.begin(), vars.end());
  }
  return made;
}

OneOp MakeForward(const OpExample& example, const Tensors& inputs) {
  OpDesc desc;
  desc.type = example.op;
  desc.attributes = example.attributes;
  for (const FilledInput& input : InputsOf(example)) {
    if (desc.inputs.empty() || desc.inputs.back().first != input.argument) {
      desc.inputs.push_back({input.argument, {}});
    }
    desc.inputs.back().second.push_back(input.name);
  }
  for (const auto& output : Registry::Global().Schema(example.op).outputs()) {
    if (!output.traits.optional) {
      desc.outputs.push_back({output.name, {output.name}});
    }
  }
  return MakeOp(std::move(desc), inputs);
}

OneOp DescribeForward(const OpExample& example) {
  Tensors outlines;
  for (const FilledInput& input : InputsOf(example)) {
    outlines[input.name] = Outline(input.dtype, input.dims);
  }
  return MakeForward(example, outlines);
}

OpDesc GradientDesc(const OneOp& forward, const std::string& gradient) {
  for (OpDesc& desc : GradientDescs(forward)) {
    if (desc.type != gradient) continue;
    std::erase_if(desc.inputs, [&](const auto& input) {
      return IsLeftOut(gradient, input.first);
    });
    return std::move(desc);
  }
  Raise(ErrorCode::kNotFound, "bench.no_gradient", "{} has no gradient op {}",
        DescOf(forward).type, gradient);
}

OneOp DescribeGradient(const OneOp& forward, const std::string& gradient) {
  OpDesc desc = GradientDesc(forward, gradient);
  Tensors outlines;
  for (const auto& [argument, vars] : desc.inputs) {
    for (const std::string& name : vars) {
      const VarDesc& like = forward.program.FindVar(WithoutGrad(name));
      outlines[name] = Outline(like.dtype, like.dims);
    }
  }
  return MakeOp(std::move(desc), outlines);
}

std::vector<std::string> GradientOps(const OneOp& forward) {
  std::vector<std::string> types;
  for (const OpDesc& desc : GradientDescs(forward)) {
    if (std::find(types.begin(), types.end(), desc.type) == types.end()) {
      types.push_back(desc.type);
    }
  }
  return types;
}

double BytesOf(const OneOp& op) {
  const OpDesc& desc = DescOf(op);
  const OpSchema& schema = Registry::Global().Schema(desc.type);
  double bytes = 0;
  for (const auto& [argument, vars] : desc.inputs) {
    const ArgTraits& traits = schema.FindInput(argument)->traits;
    if (traits.host || traits.shape_only) continue;
    for (const std::string& name : vars) {
      bytes += BytesOf(op.program.FindVar(name));
    }
  }
  for (const auto& [argument, vars] : desc.outputs) {
    for (const std::string& name : vars) {
      bytes += BytesOf(op.program.FindVar(name));
    }
  }
  return bytes;
}

}  // namespace sluice::bench
