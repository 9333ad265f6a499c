#include "sluice/laboratory/tuning/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "sluice/framework/op/kernel_call.h"
#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/values/tensor_values.h"
#include "sluice/platform/error.h"
#include "sluice/platform/number_format.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {

namespace {

// Whether kernels compute in this dtype and round. The other floats are stored
// only.
bool IsRounded(DType dtype) {
  return IsFloating(dtype) && !IsStoredNumber(dtype);
}

double LargestFinite(DType dtype) {
  const auto& format = FormatOf(IsRounded(dtype) ? dtype : DType::kFloat32);
  return std::ldexp(2 - std::ldexp(1, -format.mantissa), format.bias);
}

// Whether arguments of this dtype, a type variable or a name, have the dtype of
// the inputs.
bool FollowsInputs(const OpSchema& schema, const std::string& dtype) {
  const auto& vars = schema.type_vars();
  return std::any_of(vars.begin(), vars.end(), [&](const TypeVarDef& var) {
    return var.name == dtype && var.from_attribute.empty();
  });
}

Tensor Converted(const Tensor& tensor, DType dtype) {
  const Tensor host = tensor.CopyTo(CPUPlace());
  const std::vector<double> values = ToDoubles(host);
  if (dtype == DType::kFloat64) {
    return Tensor::FromVector<double>(host.dims(), values);
  }
  return Tensor::FromVector<float>(host.dims(), {values.begin(), values.end()});
}

// Returns the op with every value of the kernel's dtype converted to `to`,
// float32 or float64.
IsolatedOp Convert(const IsolatedOp& op, DType to) {
  IsolatedOp converted = op;
  OpFacts& facts = converted.facts;
  const auto convert = [&](const std::vector<ArgDef>& defs, bool inputs) {
    size_t flat = 0;
    for (const ArgDef& def : defs) {
      const size_t count = inputs ? facts.desc.Input(def.name).size()
                                  : facts.desc.Output(def.name).size();
      for (size_t i = 0; i < count; ++i, ++flat) {
        DType& dtype =
            (inputs ? facts.input_dtypes : facts.output_dtypes)[flat];
        if (dtype != op.facts.dtype ||
            !FollowsInputs(*facts.schema, def.dtype)) {
          continue;
        }
        dtype = to;
        if (!inputs || !converted.inputs[flat].allocated()) continue;
        converted.inputs[flat] = Converted(converted.inputs[flat], to);
      }
    }
  };
  convert(facts.schema->inputs(), true);
  convert(facts.schema->outputs(), false);
  facts.dtype = to;
  return converted;
}

// 0 if a size depends on data.
double ElementsOf(const DDim& dims) {
  return dims.known() ? static_cast<double>(dims.numel()) : 0;
}

// The number of input elements for each element of an output.
double InputsPerOutput(const std::vector<DDim>& inputs, const DDim& output) {
  double most = 1;
  const double elements = std::max(1.0, ElementsOf(output));
  for (const DDim& dims : inputs) {
    const auto input = static_cast<double>(dims.numel());
    most = std::max(most, input / elements);
  }
  // A product of [m, k] and [k, n] has no input that is k times as large as its
  // output, but sums over k elements of both.
  for (const DDim& dims : inputs) {
    for (const int64_t size : dims) {
      most = std::max(most, static_cast<double>(size));
    }
  }
  return most;
}

double Elements(const std::vector<DDim>& all) {
  double elements = 0;
  for (const DDim& dims : all) {
    elements += ElementsOf(dims);
  }
  return elements;
}

// Multiply-adds per output by the plain kernel's or the first estimate, but at
// most the number of elements in all inputs; 0 without an estimate.
double MultiplyAddsPerOutput(const OpFacts& op, const Registry& registry) {
  const KernelDef* counting = PlainKernel(op, registry);
  if (counting == nullptr || !counting->estimate) {
    const auto kernels = registry.Kernels(op.desc.type);
    const auto first = std::find_if(
        kernels.begin(), kernels.end(), [&](const KernelDef* kernel) {
          return kernel->key.place == PlaceKind::kCPU &&
                 kernel->key.dtype == op.dtype && kernel->estimate;
        });
    if (first == kernels.end()) return 0;
    counting = *first;
  }
  const double flops = counting->estimate(op.QueryAt(CPUPlace())).flops;
  return std::min(Elements(op.inputs),
                  flops / (2 * std::max(1.0, Elements(op.outputs))));
}

double LargestError(const std::vector<double>& values,
                    const std::vector<double>& reference) {
  double largest = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double error = std::abs(values[i] - reference[i]);
    if (std::isfinite(error)) largest = std::max(largest, error);
  }
  return largest;
}

// Removes the sign of a NaN, which means nothing.
double Shown(double value) {
  return std::isnan(value) ? std::abs(value) : value;
}

}  // namespace

double LargestMagnitude(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

double UnitRoundoff(DType dtype) {
  const auto& format = FormatOf(IsRounded(dtype) ? dtype : DType::kFloat32);
  return std::ldexp(0.5, -format.mantissa);
}

double Bound::At(double expected) const {
  const double magnitude = std::isfinite(expected) ? std::abs(expected) : 0;
  return std::max(absolute, relative * (magnitude + offset));
}

double ErrorOf(double value, double expected, const Bound& bound, DType dtype) {
  if (value == expected || (std::isnan(value) && std::isnan(expected))) {
    return 0;
  }
  const double most = bound.At(expected);
  const double largest = LargestFinite(dtype);
  const bool overflows =
      std::isfinite(expected) && std::abs(expected) + most >= largest;
  if (overflows && std::abs(value) >= 0.99 * largest) return 0;
  const double error = std::abs(value - expected);
  return std::isfinite(error) && most > 0
             ? error / most
             : std::numeric_limits<double>::infinity();
}

Bound NaiveBound(DType dtype, double slack) {
  if (!IsRounded(dtype)) return {};
  const double limit =
      slack * (dtype == DType::kFloat64   ? 1e-13
               : dtype == DType::kFloat32 ? 1e-6
                                          : 2 * UnitRoundoff(dtype));
  return {.absolute = limit, .relative = limit};
}

OutputValues ComputeOutputs(const IsolatedOp& op, const KernelDef& kernel) {
  // Plain kernels compute the same bits with any number of threads.
  KernelRun run(op, kernel, CPUPlace(), NumThreads());
  run.Run();
  OutputValues outputs;
  for (const Tensor& output : run.outputs()) {
    outputs.push_back(ToDoubles(output));
  }
  return outputs;
}

const KernelDef* PlainKernel(const OpFacts& op, const Registry& registry) {
  const KernelDef* first = nullptr;
  for (const KernelDef* kernel : registry.Kernels(op.desc.type)) {
    if (kernel->key.place != PlaceKind::kCPU || kernel->key.dtype != op.dtype) {
      continue;
    }
    if (kernel->variant == kReferenceVariant) return kernel;
    if (kernel->key.library != "PLAIN" ||
        !Refusal(*kernel, op.QueryAt(CPUPlace())).empty()) {
      continue;
    }
    if (kernel->variant == "plain") return kernel;
    if (first == nullptr) first = kernel;
  }
  return first;
}

std::string ElementName(const OpFacts& op,
                        size_t output,
                        const DDim& dims,
                        size_t element) {
  std::string index;
  auto rest = static_cast<int64_t>(element);
  for (int axis = dims.rank() - 1; axis >= 0; --axis) {
    index =
        Format("{}{}{}", rest % dims[axis], index.empty() ? "" : ", ", index);
    rest /= dims[axis];
  }
  return Format("{}[{}]", OutputName(op, output), index);
}

namespace {

// By output: the largest error of the plain kernel in the op's own dtype.
// Nothing is more exact than float64 to compare with: cancellation in float32,
// on the same numbers, shows its error.
std::vector<double> PlainErrors(const IsolatedOp& op,
                                const KernelDef& plain,
                                const Registry& registry,
                                const Reference& reference) {
  std::vector<double> errors(reference.outputs.size(), 0);
  for (size_t i = 0; i < reference.others.size(); ++i) {
    errors[i] = LargestError(reference.others[i], reference.outputs[i]);
  }
  if (!reference.others.empty() || plain.key.dtype != DType::kFloat64 ||
      op.facts.schema->random() || op.facts.schema->type_vars().empty()) {
    return errors;
  }
  const IsolatedOp narrow = Convert(op, DType::kFloat32);
  const KernelDef* kernel = PlainKernel(narrow.facts, registry);
  if (kernel == nullptr) return errors;
  try {
    const auto coarse = ComputeOutputs(narrow, *kernel);
    const auto fine = ComputeOutputs(Convert(narrow, DType::kFloat64), plain);
    for (size_t i = 0; i < fine.size(); ++i) {
      errors[i] = LargestError(coarse[i], fine[i]) *
                  UnitRoundoff(DType::kFloat64) / UnitRoundoff(DType::kFloat32);
    }
  } catch (const Error&) {
    // The op does not support this dtype, or there are no numbers for it.
  }
  return errors;
}

}  // namespace

Reference ComputeReference(const IsolatedOp& op, const Registry& registry) {
  Reference reference;
  const KernelDef* plain = PlainKernel(op.facts, registry);
  const bool widens =
      IsFloating(op.facts.dtype) && op.facts.dtype != DType::kFloat64 &&
      !op.facts.schema->random() && !op.facts.schema->type_vars().empty();
  if (widens) {
    const IsolatedOp wide = Convert(op, DType::kFloat64);
    reference.kernel = PlainKernel(wide.facts, registry);
    try {
      if (reference.kernel != nullptr) {
        reference.outputs = ComputeOutputs(wide, *reference.kernel);
      }
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kResourceExhausted || plain == nullptr) {
        throw;
      }
      reference.kernel = nullptr;  // the op does not support this dtype
    }
  }
  if (reference.kernel == nullptr) {
    if (plain == nullptr) return reference;
    reference.kernel = plain;
    reference.outputs = ComputeOutputs(op, *plain);
  } else if (plain != nullptr) {
    reference.others = ComputeOutputs(op, *plain);
  }
  reference.name = ToString(*reference.kernel);
  std::vector<double> errors(reference.outputs.size(), 0);
  if (plain != nullptr) errors = PlainErrors(op, *plain, registry, reference);
  for (size_t i = 0; i < errors.size(); ++i) {
    Bound& bound = reference.bounds.emplace_back();
    bound.relative = RoundingFactor(op.facts, i, registry);
    if (bound.relative == 0) continue;
    bound.absolute = 4 * errors[i];
    bound.offset = LargestMagnitude(reference.outputs[i]);
  }
  return reference;
}

double RoundingFactor(const OpFacts& op,
                      size_t output,
                      const Registry& registry) {
  const DType dtype = op.output_dtypes[output];
  if (!IsFloating(dtype)) return 0;
  const double n = std::max(InputsPerOutput(op.inputs, op.outputs[output]),
                            MultiplyAddsPerOutput(op, registry));
  return (8 + 2 * std::sqrt(n)) * UnitRoundoff(dtype);
}

namespace {

// Outputs of the reference kernel for inputs of which each element is changed
// by `share` of itself, up or down.
OutputValues Perturbed(const IsolatedOp& wide,
                       const KernelDef& kernel,
                       double share) {
  IsolatedOp op = wide;
  std::mt19937 random(20'250'101);
  for (Tensor& input : op.inputs) {
    if (!input.allocated() || input.dtype() != DType::kFloat64) continue;
    input = input.CopyTo(CPUPlace());
    double* values = input.data<double>();
    for (int64_t i = 0; i < input.numel(); ++i) {
      values[i] *= (random() & 1U) != 0 ? 1 + share : 1 - share;
    }
  }
  return ComputeOutputs(op, kernel);
}

// Widens the bounds by k u d, where d is the change of an output relative to
// the relative change of the inputs. It is no rate where the op is
// discontinuous.
void AddSensitivity(const IsolatedOp& op, Reference* reference) {
  constexpr double kShare = 0x1p-30;
  const IsolatedOp wide = Convert(op, DType::kFloat64);
  const auto small = Perturbed(wide, *reference->kernel, kShare);
  const auto large = Perturbed(wide, *reference->kernel, 8 * kShare);
  for (size_t i = 0; i < small.size(); ++i) {
    const double change = LargestError(small[i], reference->outputs[i]);
    const double larger = LargestError(large[i], reference->outputs[i]);
    if (larger < 4 * change || larger > 16 * change) continue;
    Bound& bound = reference->bounds[i];
    bound.absolute = std::max(bound.absolute, bound.relative * change / kShare);
  }
}

Deviation Compare(const IsolatedOp& op,
                  const Reference& reference,
                  const std::vector<Tensor>& outputs) {
  Deviation worst;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const DType dtype = op.facts.output_dtypes[i];
    const std::vector<double>& expected = reference.outputs[i];
    const std::vector<double> values = ToDoubles(outputs[i].CopyTo(CPUPlace()));
    if (values.size() != expected.size()) {
      return {std::numeric_limits<double>::infinity(),
              Format("{} has {} elements, {} gives {}", OutputName(op.facts, i),
                     values.size(), reference.name, expected.size())};
    }
    for (size_t j = 0; j < values.size(); ++j) {
      const Bound& bound = reference.bounds[i];
      double error = ErrorOf(values[j], expected[j], bound, dtype);
      if (error > 0 && !reference.others.empty()) {
        error = std::min(
            error, ErrorOf(values[j], reference.others[i][j], bound, dtype));
      }
      if (!(error > worst.error)) continue;
      worst.error = error;
      if (error <= 1) continue;
      worst.message =
          Format("{} is {}, {} gives {}",
                 ElementName(op.facts, i, outputs[i].dims(), j),
                 Shown(values[j]), reference.name, Shown(expected[j]));
      if (bound.At(expected[j]) > 0) {
        worst.message += Format(" (a difference of up to {:.3g} is rounding)",
                                bound.At(expected[j]));
      }
    }
  }
  return worst;
}

}  // namespace

Deviation CompareWithReference(const IsolatedOp& op,
                               const Reference& reference,
                               const std::vector<Tensor>& outputs) {
  Deviation worst = Compare(op, reference, outputs);
  if (worst.error <= 1 || reference.kernel == nullptr ||
      reference.kernel->key.dtype != DType::kFloat64) {
    return worst;
  }
  // Computed only if it decides: it takes two more runs.
  Reference wider = reference;
  AddSensitivity(op, &wider);
  return Compare(op, wider, outputs);
}

}  // namespace sluice
