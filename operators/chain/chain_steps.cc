#include "sluice/operators/chain/chain_steps.h"

#include <array>
#include <optional>

#include "sluice/operators/registration.h"

namespace sluice {
namespace {

using Strings = std::vector<std::string>;
using Doubles = std::vector<double>;

constexpr size_t kNumbers = std::tuple_size_v<UnaryParams>;
// Broadcast operands with shorter rows are not fused: loops would be short.
constexpr int64_t kShortestRow = 16;

// Returns the attributes that hold a step's numbers; nullptr for none.
std::array<const char*, kNumbers> NamesOfNumbers(const std::string& type) {
  if (type == "scale") return {"scale", "bias"};
  if (type == "clip") return {"min", "max"};
  std::array<const char*, kNumbers> names = {};
  const UnaryRow* row = FindUnaryRow(type);
  for (size_t i = 0; row != nullptr && i < kNumbers; ++i) {
    names[i] = row->info.attributes[i].name;
  }
  return names;
}

double NumberOf(const Attribute& attribute) {
  if (const bool* flag = std::get_if<bool>(&attribute)) return *flag ? 1 : 0;
  return std::get<double>(attribute);
}

// Returns how `operand` is broadcast to `out`. Its first dimension is aligned
// with dimension `axis` of `out`.
std::optional<ChainOperand> OperandOf(const DDim& operand,
                                      const DDim& out,
                                      int64_t axis) {
  int first = 0, end = operand.rank();
  while (first < end && operand[first] == 1) {
    ++first;
  }
  while (end > first && operand[end - 1] == 1) {
    --end;
  }
  ChainOperand found = {.inner = 1, .size = operand.numel()};
  for (int i = first; i < end; ++i) {
    if (operand[i] != out[static_cast<int>(axis) + i]) return std::nullopt;
  }
  for (int i = static_cast<int>(axis) + end; i < out.rank(); ++i) {
    found.inner *= out[i];
  }
  return found;
}

bool HasShortRows(const ChainOperand& operand, const DDim& out) {
  if (operand.size == 1 || operand.size == out.numel()) return false;
  return (operand.inner > 1 ? operand.inner : operand.size) < kShortestRow;
}

template <typename List>
void Append(OpDesc* op,
            const char* attribute,
            typename List::value_type value) {
  const auto [found, added] = op->attributes.try_emplace(attribute, List());
  std::get<List>(found->second).push_back(std::move(value));
}

void AppendUnary(const OpDesc& step, OpDesc* fused) {
  Append<Strings>(fused, "steps", step.type);
  for (const char* name : NamesOfNumbers(step.type)) {
    Append<Doubles>(
        fused, "numbers",
        name == nullptr ? 0 : NumberOf(step.attributes.find(name)->second));
  }
}

bool IsSumOfTwo(const OpDesc& op) {
  return op.type == "sum" && op.Input("X").size() == 2;
}

bool AppendBinary(const Graph& graph,
                  const std::string& value,
                  const OpDesc& step,
                  OpDesc* fused) {
  const bool is_sum = IsSumOfTwo(step);
  const std::string& x = step.Input("X")[0];
  const std::string& y = is_sum ? step.Input("X")[1] : step.Input("Y")[0];
  const std::string type = is_sum ? "elementwise_add" : step.type;
  if (fused->Input("Operands").size() == kMaxChainOperands) return false;
  const bool commutes = type == "elementwise_add" || type == "elementwise_mul";
  if (x == y || (x != value && !commutes)) return false;
  const std::string& operand = x == value ? y : x;
  const DDim& dims = graph.dims(operand);
  const DDim& out = graph.dims(value);
  int64_t axis =
      is_sum ? -1 : std::get<int64_t>(step.attributes.find("axis")->second);
  if (axis < 0 || x != value) axis = out.rank() - dims.rank();
  const auto repeats = OperandOf(dims, out, axis);
  if (!repeats || HasShortRows(*repeats, out)) return false;
  Append<Strings>(fused, "steps", type);
  for (size_t i = 0; i < kNumbers; ++i) {
    Append<Doubles>(fused, "numbers", 0);
  }
  Append<Ints>(fused, "axes", axis);
  for (auto& [argument, vars] : fused->inputs) {
    if (argument != "Operands") continue;
    vars.push_back(operand);
    return true;
  }
  fused->inputs.push_back({"Operands", {operand}});
  return true;
}

size_t InputsOf(const OpDesc& op) {
  size_t count = 0;
  for (const auto& [argument, vars] : op.inputs) {
    count += vars.size();
  }
  return count;
}

}  // namespace

void ChainArguments(OpSchema& op) {
  op.Input("Operands", "T", "What the steps read, in their order.",
           {.optional = true, .variadic = true});
  op.Attr<Strings>("steps", "Ops that are applied to the output, in order.")
      .Default(Strings());
  op.Attr<Doubles>("numbers", "Two values of attributes for each of the steps.")
      .Default(Doubles());
  op.Attr<Ints>("axes",
                "The dimension of the output under which the first one of each "
                "of the operands stands.")
      .Default(Ints());
}

void CheckChain(const InferShapeContext& context, const DDim& out) {
  const auto& steps = context.Attr<Strings>("steps");
  const auto& numbers = context.Attr<Doubles>("numbers");
  const auto& axes = context.Attr<Ints>("axes");
  const auto operands = context.inputs("Operands");
  size_t wanted = 0;
  for (const std::string& step : steps) {
    context.Require(IsChainStep(step), "chain.unknown_step",
                    "{} in steps is no element-wise op", step);
    wanted += HasOperand(step) ? 1 : 0;
  }
  context.Require(
      steps.size() <= kMaxChainSteps && operands.size() == wanted &&
          wanted <= kMaxChainOperands &&
          numbers.size() == steps.size() * kNumbers && axes.size() == wanted,
      "chain.attributes",
      "{} steps have {} numbers; they read {} operands, of which "
      "there are {}, with {} axes",
      steps.size(), numbers.size(), wanted, operands.size(), axes.size());
  for (size_t i = 0; i < wanted; ++i) {
    const DDim& dims = operands[i].dims;
    if (!dims.known() || !out.known()) continue;
    context.Require(axes[i] >= 0 && axes[i] + dims.rank() <= out.rank() &&
                        OperandOf(dims, out, axes[i]).has_value(),
                    "chain.operand_dims",
                    "operand {} of shape {} does not repeat to {} at axis {}",
                    i, dims, out, axes[i]);
  }
}

const Strings& StepsOf(const OpDesc& op) {
  static const Strings kNone;
  const auto found = op.attributes.find("steps");
  return found == op.attributes.end() ? kNone
                                      : std::get<Strings>(found->second);
}

bool CanBeStep(const OpDesc& op) {
  return IsChainStep(op.type) || IsSumOfTwo(op);
}

bool ReadsOperand(const OpDesc& op) {
  return HasOperand(op.type) || IsSumOfTwo(op);
}

bool AppendChainStep(const Graph& graph,
                     const std::string& value,
                     const OpDesc& reader,
                     OpDesc* fused) {
  if (!CanBeStep(reader)) return false;
  if (StepsOf(*fused).size() == kMaxChainSteps) return false;
  const std::string& out = reader.outputs.front().second.front();
  if (graph.dims(out) != graph.dims(value)) return false;
  if (ReadsOperand(reader)) {
    return AppendBinary(graph, value, reader, fused);
  }
  const auto after = reader.attributes.find("bias_after_scale");
  const bool adds_first =
      after != reader.attributes.end() && !std::get<bool>(after->second);
  if (adds_first || InputsOf(reader) != 1) return false;
  AppendUnary(reader, fused);
  return true;
}

template <typename T>
Chain<T> ReadChain(const KernelQuery& query, size_t skipped) {
  const Strings& names = StepsOf(query.op);
  const auto& numbers = query.Attr<Doubles>("numbers");
  const auto& axes = query.Attr<Ints>("axes");
  std::vector<ChainStep> steps;
  for (size_t i = skipped; i < names.size(); ++i) {
    ChainStep& step = steps.emplace_back();
    step.op = names[i];
    for (size_t j = 0; j < kNumbers; ++j) {
      step.numbers[j] = numbers[i * kNumbers + j];
    }
  }
  std::vector<ChainOperand> repeats;
  repeats.reserve(axes.size());
  const auto dims = query.inputs.last(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    repeats.push_back(OperandOf(dims[i], query.outputs[0], axes[i]).value());
  }
  return {steps, std::move(repeats)};
}

template SLUICE_API Chain<float> ReadChain(const KernelQuery&, size_t);
template SLUICE_API Chain<double> ReadChain(const KernelQuery&, size_t);
template SLUICE_API Chain<float16> ReadChain(const KernelQuery&, size_t);
template SLUICE_API Chain<bfloat16> ReadChain(const KernelQuery&, size_t);

double OperandBytes(const KernelQuery& query) {
  double elements = 0;
  for (const DDim& operand :
       query.inputs.last(query.op.Input("Operands").size())) {
    elements += static_cast<double>(operand.numel());
  }
  return elements * static_cast<double>(SizeOf(query.output_dtypes[0]));
}

std::vector<ChainOp> ChainOps(const OpDesc& op) {
  const Strings& names = StepsOf(op);
  std::vector<ChainOp> ops;
  int operands = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    ChainOp& step = ops.emplace_back();
    step.type = names[i];
    if (HasOperand(step.type)) {
      const auto& axes = std::get<Ints>(op.attributes.find("axes")->second);
      step.attributes["axis"] = axes[static_cast<size_t>(operands)];
      step.operand = operands++;
      continue;
    }
    const auto& numbers =
        std::get<Doubles>(op.attributes.find("numbers")->second);
    const auto number_names = NamesOfNumbers(step.type);
    const UnaryRow* row = FindUnaryRow(step.type);
    for (size_t j = 0; j < kNumbers; ++j) {
      if (number_names[j] == nullptr) continue;
      const double number = numbers[i * kNumbers + j];
      const bool is_bool = row != nullptr && row->info.attributes[j].is_bool;
      step.attributes[number_names[j]] =
          is_bool ? Attribute(number != 0) : Attribute(number);
    }
  }
  return ops;
}

}  // namespace sluice
