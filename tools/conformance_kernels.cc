#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "tools/conformance.h"

#include "sluice/framework/op/near_names.h"
#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/run/run_op.h"
#include "sluice/platform/error.h"

namespace sluice::conformance {
namespace {

using framework::ArgDef;
using framework::DDim;
using framework::DType;
using framework::OpSchema;
using framework::Tensor;
using platform::CPUPlace;
using platform::Format;
// What an op is run with.
struct Example {
  std::vector<std::pair<std::string, Tensor>> inputs;
  framework::AttributeMap attributes;
};
using Outputs = std::map<std::string, Tensor>;

// Shapes that every input has in turn, until the op takes one.
const std::vector<DDim>& Shapes() {
  static const std::vector<DDim> kShapes = {DDim({4, 6}), DDim({2, 4, 6, 4}),
                                            DDim({6}), DDim({3, 4, 6})};
  return kShapes;
}

DType DTypeOfArgument(const OpSchema& schema, const ArgDef& def, DType dtype) {
  for (const framework::TypeVarDef& var : schema.type_vars()) {
    if (var.name != def.dtype) continue;
    const auto& all = var.allowed;
    return std::count(all.begin(), all.end(), dtype) > 0 ? dtype : all.front();
  }
  return platform::ParseDType(def.dtype);
}

// Small whole numbers, which every dtype holds and every order sums alike.
Tensor MakeInput(const DDim& dims, DType dtype) {
  std::vector<float> values(static_cast<size_t>(dims.numel()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 7 + i / 5) % 11);
  }
  const Tensor floats = Tensor::FromVector<float>(dims, values);
  if (dtype == DType::kFloat32) return floats;
  return framework::RunOp("cast", {{"X", floats}}, {{"dtype", dtype}})
      .at("Out");
}

// A value for each attribute that has no default: a list of integers is the
// shape of the inputs, as `reshape` wants it.
framework::AttributeMap MakeAttributes(const OpSchema& schema,
                                       const DDim& dims,
                                       DType dtype) {
  framework::AttributeMap attributes;
  for (const framework::AttrDef& def : schema.attributes()) {
    if (def.default_value) continue;
    framework::Attribute value = int64_t{1};
    switch (def.type) {
      case framework::AttrType::kBool:
        value = false;
        break;
      case framework::AttrType::kFloat:
        value = 1.0;
        break;
      case framework::AttrType::kString:
        value = def.choices.empty() ? std::string() : def.choices.front();
        break;
      case framework::AttrType::kInts:
        value = std::vector<int64_t>(dims.begin(), dims.end());
        break;
      case framework::AttrType::kDType:
        value = dtype;
        break;
      default:
        break;
    }
    attributes[def.name] = value;
  }
  return attributes;
}

Example MakeExample(const OpSchema& schema, const DDim& dims, DType dtype) {
  Example example;
  example.attributes = MakeAttributes(schema, dims, dtype);
  for (const ArgDef& def : schema.inputs()) {
    if (def.traits.optional) continue;
    example.inputs.emplace_back(
        def.name, MakeInput(dims, DTypeOfArgument(schema, def, dtype)));
  }
  return example;
}

std::string HintFor(const CheckedKernel& kernel) {
  return Format("require place={}, variant={}; exclude pass=channels_last",
                kernel.place, kernel.variant);
}

// The outputs for the first shape that the kernel takes; nothing, with the
// last refusal, when there is none.
std::optional<Outputs> RunKernel(const CheckedKernel& kernel,
                                 Example* example,
                                 std::string* refusal) {
  const OpSchema& schema = framework::Registry::Global().Schema(kernel.op);
  for (const DDim& dims : Shapes()) {
    try {
      *example = MakeExample(schema, dims, kernel.dtype);
      return framework::RunOp(kernel.op, example->inputs, example->attributes,
                              {.place = kernel.place, .hint = HintFor(kernel)});
    } catch (const platform::Error& error) {
      *refusal = error.what();
      const auto code = error.code();
      const bool about_the_shape =
          code == platform::ErrorCode::kInvalidArgument ||
          code == platform::ErrorCode::kOutOfRange ||
          error.check_id() == "resolver.no_kernel";
      if (!about_the_shape || error.check_id() == "plugin.callback_failed") {
        throw;
      }
    }
  }
  return std::nullopt;
}

std::vector<double> Values(const Tensor& tensor) {
  return framework::RunOp("cast", {{"X", tensor}}, {{"dtype", DType::kFloat64}})
      .at("Out")
      .ToVector<double>();
}

std::string CompareOutputs(const Outputs& got, const Outputs& want) {
  for (const auto& [name, tensor] : want) {
    const auto found = got.find(name);
    if (found == got.end()) return "no output " + name;
    const std::vector<double> ours = Values(found->second);
    const std::vector<double> theirs = Values(tensor);
    if (found->second.dims() != tensor.dims()) {
      return Format("output {} has shape {}, on the CPU {}", name,
                    found->second.dims(), tensor.dims());
    }
    for (size_t i = 0; i < theirs.size(); ++i) {
      const double slack = 1e-2 * std::max(1.0, std::abs(theirs[i]));
      if (!(std::abs(ours[i] - theirs[i]) <= slack)) {
        return Format("output {}[{}] is {}, on the CPU {}", name, i, ours[i],
                      theirs[i]);
      }
    }
  }
  return "";
}

// Those of the op's other kernels on the CPU; nothing where it has none.
std::optional<Outputs> RunOthers(const CheckedKernel& kernel,
                                 const Example& example) {
  const auto kernels = framework::Registry::Global().Kernels(kernel.op);
  const bool any =
      std::any_of(kernels.begin(), kernels.end(), [&](const auto* other) {
        return other->key.place == platform::PlaceKind::kCPU &&
               other->key.dtype == kernel.dtype &&
               other->variant != kernel.variant;
      });
  if (!any) return std::nullopt;
  return framework::RunOp(
      kernel.op, example.inputs, example.attributes,
      {.hint = Format("exclude variant={}", kernel.variant)});
}

void CheckKernel(Report& report, const CheckedKernel& kernel) {
  const std::string name =
      Format("kernels.{}/{}.{}", kernel.op, kernel.variant, kernel.dtype);
  if (framework::Registry::Global().FindSchema(kernel.op) == nullptr) {
    report.Check(name, [&] {
      return Format(
          "there is no op {}{}; the library of an op of your own is loaded "
          "with --library",
          kernel.op,
          framework::SuggestNames(kernel.op,
                                  framework::Registry::Global().OpNames()));
    });
    return;
  }
  std::string refusal;
  Example example;
  std::optional<Outputs> outputs;
  std::string wrong;
  try {
    outputs = RunKernel(kernel, &example, &refusal);
  } catch (const std::exception& error) {
    wrong = error.what();
  }
  if (!outputs && wrong.empty()) {
    report.Skip(name, "it takes none of the inputs that are tried; " + refusal);
    return;
  }
  report.Check(name, [&] {
    if (!wrong.empty()) return wrong;
    const auto again =
        framework::RunOp(kernel.op, example.inputs, example.attributes,
                         {.place = kernel.place, .hint = HintFor(kernel)});
    wrong = CompareOutputs(again, *outputs);
    if (!wrong.empty()) return "a second run differs: " + wrong;
    const auto others = RunOthers(kernel, example);
    return others ? CompareOutputs(*outputs, *others) : wrong;
  });
}

}  // namespace

void CheckKernels(Report& report, const std::vector<CheckedKernel>& kernels) {
  if (kernels.empty()) report.Skip("kernels", "it has none");
  for (const CheckedKernel& kernel : kernels) {
    CheckKernel(report, kernel);
  }
}

}  // namespace sluice::conformance
