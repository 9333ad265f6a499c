// Writes the examples of all ops' cases as descriptions, with which the library
// tries users' kernels (laboratory/op_example.h). CMake runs it
// (cmake/SluiceExamples.cmake):
//
//   sluice_write_examples examples.jsonl
//   sluice_write_examples --facts facts.txt
//
// The second writes what the first reads of the registered ops, in no time: the
// examples are as they were if it is. A file whose text is the same is left
// alone.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>

#include "tests/operators/harness/op_case.h"

#include "sluice/framework/op/op_schema.h"
#include "sluice/laboratory/op_example.h"

namespace sluice::testing {
namespace {

// Ranges by argument and dtype over all examples of an op, because tensors of
// one element or none do not show the valid range.
class Ranges {
 public:
  explicit Ranges(const std::vector<OpExample>& examples) {
    for (const OpExample& example : examples) {
      for (const auto& [argument, tensor] : example.inputs) {
        if (tensor.numel() == 0) continue;
        const auto [low, high] = Of(tensor);
        const auto [found, is_first] = ranges_.try_emplace(
            {argument, tensor.dtype()}, std::pair(low, high));
        if (is_first) continue;
        found->second.first = std::min(found->second.first, low);
        found->second.second = std::max(found->second.second, high);
      }
    }
  }

  // Integers use the example's own range, since they may be indices.
  std::pair<double, double> Find(const std::string& argument,
                                 const Tensor& tensor) const {
    if (!IsFloating(tensor.dtype()) && tensor.numel() > 0) {
      return Of(tensor);
    }
    const auto found = ranges_.find({argument, tensor.dtype()});
    return found == ranges_.end() ? std::pair(0.0, 0.0) : found->second;
  }

 private:
  static std::pair<double, double> Of(const Tensor& tensor) {
    std::vector<double> values = ToArray(tensor).values;
    std::erase_if(values, [](double value) { return !std::isfinite(value); });
    if (values.empty()) return {0, 0};
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return {*low, *high};
  }

  std::map<std::pair<std::string, DType>, std::pair<double, double>> ranges_;
};

// A tensor that is written out as an attribute is too long.
constexpr size_t kLongestLine = 4000;

// Rounds to three digits, which suffice for a range.
double Short(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return std::strtod(text, nullptr);
}

// The examples of a case, with the dtypes of this kernel.
std::vector<sluice::OpExample> DescriptionsOf(const OpCase& op_case,
                                              DType dtype) {
  if (op_case.descriptions) return op_case.descriptions(dtype);
  ExampleMaker make(dtype);
  const std::vector<OpExample> examples = op_case.examples(make);
  const Ranges ranges(examples);
  std::vector<sluice::OpExample> descriptions;
  for (const OpExample& example : examples) {
    sluice::OpExample& described = descriptions.emplace_back();
    described.attributes = example.attributes;
    for (const auto& [argument, tensor] : example.inputs) {
      const auto [low, high] = ranges.Find(argument, tensor);
      described.inputs.push_back(
          {argument, false, tensor.dtype(), tensor.dims(), low, high});
    }
  }
  return descriptions;
}

bool IsVariable(const OpSchema& schema, const std::string& argument) {
  const std::string& declared = schema.FindInput(argument)->dtype;
  return std::any_of(schema.type_vars().begin(), schema.type_vars().end(),
                     [&](const auto& var) { return var.name == declared; });
}

// Puts the dtype of every kernel in place of this one's, and rounds ranges.
// Dtypes that attributes define may equal the kernel's by chance.
void Generalize(const OpSchema& schema,
                DType dtype,
                sluice::OpExample* example) {
  example->op = schema.name();
  for (ExampleInput& input : example->inputs) {
    input.of_kernel =
        input.dtype == dtype && IsVariable(schema, input.argument);
    input.low = Short(input.low);
    input.high = Short(input.high);
  }
  // If there are inputs, they define the kernel's dtype.
  if (!example->inputs.empty()) return;
  std::erase_if(example->attributes, [&](const auto& attribute) {
    const auto* its = std::get_if<DType>(&attribute.second);
    if (its == nullptr || *its != dtype) return false;
    example->dtype_attributes.push_back(attribute.first);
    return true;
  });
}

std::string WithoutRanges(std::vector<sluice::OpExample> examples) {
  std::string text;
  for (sluice::OpExample& example : examples) {
    for (ExampleInput& input : example.inputs) {
      input.low = input.high = 0;
    }
    text += ExampleToJson(example) + "\n";
  }
  return text;
}

// float32 first, so that ranges are those of its numbers.
std::vector<DType> PlainDTypes(const std::string& op) {
  std::set<DType> dtypes;
  for (const auto* kernel : Registry::Global().Kernels(op)) {
    if (kernel->key.place == PlaceKind::kCPU &&
        kernel->key.library == "PLAIN") {
      dtypes.insert(kernel->key.dtype);
    }
  }
  std::vector<DType> sorted(dtypes.begin(), dtypes.end());
  std::stable_partition(sorted.begin(), sorted.end(),
                        [](DType dtype) { return dtype == DType::kFloat32; });
  return sorted;
}

// Dtypes with equal sizes and attributes share their lines.
std::string LinesOf(const OpSchema& schema, const OpCase& op_case) {
  std::vector<std::string> keys;
  std::map<std::string, std::vector<sluice::OpExample>> groups;
  for (const DType dtype : PlainDTypes(schema.name())) {
    auto described = DescriptionsOf(op_case, dtype);
    for (sluice::OpExample& example : described) {
      Generalize(schema, dtype, &example);
    }
    // Numbers of other kinds have other ranges.
    const std::string key =
        WithoutRanges(described) + (IsFloating(dtype)        ? "float"
                                    : dtype == DType::kBool  ? "bool"
                                    : dtype == DType::kUInt8 ? "uint8"
                                                             : "int");
    const auto [group, is_first] = groups.try_emplace(key, described);
    if (is_first) keys.push_back(key);
    for (sluice::OpExample& example : group->second) {
      example.dtypes.push_back(dtype);
    }
  }
  std::string lines;
  std::set<std::string> written;
  for (const std::string& key : keys) {
    for (sluice::OpExample& example : groups[key]) {
      if (groups.size() == 1) example.dtypes.clear();
      const std::string line = ExampleToJson(example) + "\n";
      if (line.size() > kLongestLine) continue;
      if (written.insert(line).second) lines += line;
    }
  }
  return lines;
}

// The properties of an op on which its lines depend.
std::string FactsOf(const OpSchema& schema, const OpCase&) {
  std::string facts = schema.name() + ":";
  for (const DType dtype : PlainDTypes(schema.name())) {
    facts += " " + std::string(ToString(dtype));
  }
  for (const ArgDef& input : schema.inputs()) {
    if (IsVariable(schema, input.name)) facts += " " + input.name;
  }
  return facts + "\n";
}

template <typename Write>
std::string OfAllOps(Write write) {
  std::string text = "# Written by sluice_write_examples from the cases.\n";
  for (const auto& [op, op_case] : OpCases()) {
    const OpSchema* schema = Registry::Global().FindSchema(op);
    if (schema != nullptr) text += write(*schema, op_case);
  }
  return text;
}

bool Has(const std::string& path, const std::string& text) {
  std::ifstream file(path);
  return file && std::string{std::istreambuf_iterator<char>(file), {}} == text;
}

void Write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace
}  // namespace sluice::testing

int main(int argc, char** argv) {
  using namespace sluice::testing;  // NOLINT(google-build-using-namespace)
  try {
    const bool facts = argc == 3 && std::string(argv[1]) == "--facts";
    if (argc != 2 && !facts) {
      throw std::runtime_error("usage: sluice_write_examples [--facts] FILE");
    }
    const std::string path = argv[argc - 1];
    const std::string text = facts ? OfAllOps(FactsOf) : OfAllOps(LinesOf);
    // Facts that are as they were leave what depends on them up to date.
    if (!facts || !Has(path, text)) Write(path, text);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sluice_write_examples: %s\n", error.what());
    return 1;
  }
}
