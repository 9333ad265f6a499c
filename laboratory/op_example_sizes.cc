// Derives examples: other sizes, and guesses.
#include <algorithm>
#include <set>
#include <utility>

#include "sluice/framework/op/op_schema.h"
#include "sluice/laboratory/example_op.h"
#include "sluice/laboratory/op_example.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

// Sizes around vectors of 2 to 32 elements and unrolled loops over them.
constexpr int64_t kSizes[] = {1, 2, 8, 15, 16, 17, 33, 64};
constexpr int64_t kMostExampleElements = 1 << 16;
constexpr size_t kMostGuesses = 12;
constexpr size_t kMostOfLikeOps = 24;

bool TooLarge(const OpExample& example) {
  int64_t elements = 0;
  for (const ExampleInput& input : example.inputs) {
    elements += input.dims.numel();
  }
  return elements > kMostExampleElements;
}

void Replace(int64_t from, int64_t to, bool attributes, OpExample* example) {
  for (ExampleInput& input : example->inputs) {
    std::vector<int64_t> sizes(input.dims.begin(), input.dims.end());
    std::replace(sizes.begin(), sizes.end(), from, to);
    input.dims = DDim(sizes);
  }
  if (!attributes) return;
  for (auto& [name, value] : example->attributes) {
    if (auto* list = std::get_if<std::vector<int64_t>>(&value)) {
      std::replace(list->begin(), list->end(), from, to);
    }
  }
}

bool HasIntegerList(const OpExample& example, int64_t size) {
  return std::any_of(example.attributes.begin(), example.attributes.end(),
                     [size](const auto& attribute) {
                       const auto* list =
                           std::get_if<std::vector<int64_t>>(&attribute.second);
                       return list != nullptr &&
                              std::count(list->begin(), list->end(), size) > 0;
                     });
}

// A list of integers is guessed to be the shape of the inputs, as for reshape.
Attribute GuessAttribute(const AttrDef& def, const DDim& dims, DType dtype) {
  switch (def.type) {
    case AttrType::kBool:
      return false;
    case AttrType::kFloat:
      return def.minimum.value_or(1.0);
    case AttrType::kString:
      return def.choices.empty() ? std::string() : def.choices.front();
    case AttrType::kInts:
      return std::vector<int64_t>(dims.begin(), dims.end());
    case AttrType::kFloats:
      return std::vector<double>(1, 1.0);
    case AttrType::kStrings:
      return std::vector<std::string>();
    case AttrType::kDType:
      return dtype;
    default:
      return static_cast<int64_t>(def.minimum.value_or(1.0));
  }
}

ExampleInput GuessInput(const OpSchema& schema,
                        const ArgDef& def,
                        const DDim& dims) {
  ExampleInput input{.argument = def.name, .dims = dims};
  const auto& vars = schema.type_vars();
  const auto var = std::find_if(
      vars.begin(), vars.end(),
      [&def](const TypeVarDef& other) { return other.name == def.dtype; });
  input.of_kernel = !vars.empty() && def.dtype == vars.front().name;
  if (!input.of_kernel) {
    input.dtype =
        var == vars.end() ? ParseDType(def.dtype) : var->allowed.front();
    // Labels and indices are 0, which is always valid.
    if (!IsFloating(input.dtype)) input.low = input.high = 0;
  }
  return input;
}

bool Takes(const OpExample& example, DType dtype) {
  try {
    return ExampleOp(example, dtype).op().facts.dtype == dtype;
  } catch (const Error&) {
    return false;
  }
}

std::set<std::string> Names(const OpSchema& schema) {
  std::set<std::string> names;
  for (const ArgDef& def : schema.inputs()) {
    names.insert(def.name);
  }
  for (const AttrDef& def : schema.attributes()) {
    names.insert(def.name);
  }
  return names;
}

// The share of argument and attribute names that two ops have in common.
double Likeness(const OpSchema& a, const OpSchema& b) {
  const std::set<std::string> of_a = Names(a);
  const std::set<std::string> of_b = Names(b);
  const auto common = std::count_if(
      of_a.begin(), of_a.end(),
      [&](const std::string& name) { return of_b.count(name) > 0; });
  const auto all = of_a.size() + of_b.size() - static_cast<size_t>(common);
  return all == 0 ? 0 : static_cast<double>(common) / static_cast<double>(all);
}

std::vector<OpExample> ExamplesOfLikeOps(const OpSchema& schema, DType dtype) {
  std::vector<std::pair<double, std::string>> ops;
  for (const std::string& op : OpsWithExamples()) {
    const OpSchema* other = Registry::Global().FindSchema(op);
    if (other == nullptr) continue;
    const double likeness = Likeness(schema, *other);
    if (likeness >= 0.5) ops.emplace_back(-likeness, op);
  }
  std::sort(ops.begin(), ops.end());
  std::vector<OpExample> found;
  for (const auto& [unused, op] : ops) {
    for (OpExample example : BuiltinExamples(op)) {
      const auto& dtypes = example.dtypes;
      const bool meant =
          dtypes.empty() || std::count(dtypes.begin(), dtypes.end(), dtype) > 0;
      if (!meant || found.size() >= kMostOfLikeOps) continue;
      example.op = schema.name();
      if (Takes(example, dtype)) found.push_back(std::move(example));
    }
    if (!found.empty()) break;
  }
  return found;
}

}  // namespace

bool MakeLarger(DType dtype, OpExample* example) {
  constexpr double kFactor = 100;
  constexpr double kNoFloat = (1 << 26) + 1;
  std::set<std::string> arguments;
  for (const ExampleInput& input : example->inputs) {
    if (input.of_kernel) arguments.insert(input.argument);
  }
  const bool integers = dtype == DType::kInt32 || dtype == DType::kInt64;
  bool any = false;
  for (ExampleInput& input : example->inputs) {
    if (!input.of_kernel || input.low >= 0) continue;
    if (IsFloating(dtype)) {
      input.low *= kFactor;
      input.high *= kFactor;
    } else if (integers && arguments.size() == 1) {
      input.low = -kNoFloat;
      input.high = kNoFloat;
    } else {
      continue;
    }
    any = true;
  }
  return any;
}

std::vector<OpExample> OtherSizes(const OpExample& example) {
  std::set<int64_t> sizes;
  for (const ExampleInput& input : example.inputs) {
    sizes.insert(input.dims.begin(), input.dims.end());
  }
  std::vector<OpExample> others;
  const auto add = [&others](OpExample other) {
    if (!TooLarge(other)) others.push_back(std::move(other));
  };
  for (const int64_t to : kSizes) {
    for (const int64_t from : sizes) {
      if (from == to || from == 0) continue;
      OpExample other = example;
      Replace(from, to, false, &other);
      add(other);
      if (!HasIntegerList(example, from)) continue;
      other = example;
      Replace(from, to, true, &other);
      add(std::move(other));
    }
  }
  return others;
}

std::vector<OpExample> GuessExamples(const OpSchema& schema, DType dtype) {
  const std::vector<DDim> shapes = {
      DDim({3, 7}), DDim({16}),   DDim({2, 3, 5, 4}), DDim({1}),
      DDim({7, 5}), DDim({4, 1}), DDim({0, 3})};
  std::vector<OpExample> found = ExamplesOfLikeOps(schema, dtype);
  if (!found.empty()) return found;
  const auto attempt = [&](const DDim& first, const DDim& rest) {
    if (found.size() >= kMostGuesses) return;
    OpExample example;
    example.op = schema.name();
    for (const ArgDef& def : schema.inputs()) {
      if (def.traits.optional) continue;
      example.inputs.push_back(
          GuessInput(schema, def, example.inputs.empty() ? first : rest));
    }
    for (const AttrDef& def : schema.attributes()) {
      if (def.default_value) continue;
      if (def.type == AttrType::kDType) {
        example.dtype_attributes.push_back(def.name);
      } else {
        example.attributes[def.name] = GuessAttribute(def, first, dtype);
      }
    }
    if (Takes(example, dtype)) found.push_back(std::move(example));
  };
  for (const DDim& shape : shapes) {
    attempt(shape, shape);
  }
  for (const DDim& first : shapes) {
    for (const DDim& rest : shapes) {
      if (first != rest) attempt(first, rest);
    }
  }
  return found;
}

}  // namespace sluice
