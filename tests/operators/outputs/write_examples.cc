// Writes the examples of all ops' cases as descriptions, with which the library
// tries users' kernels (laboratory/op_example.h):
//
//   sluice_write_examples operators/examples.jsonl
//   sluice_write_examples --check operators/examples.jsonl
//
// With --check the exit status is 1 if the file differs.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "tests/operators/harness/harness.h"
#include "tests/operators/harness/op_case.h"
#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

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

// Dtypes that attributes define may equal the kernel's by chance.
sluice::OpExample Describe(const std::string& op,
                           const OpExample& example,
                           const Ranges& ranges,
                           DType dtype) {
  const OpSchema& schema = Registry::Global().Schema(op);
  sluice::OpExample described;
  described.op = op;
  for (const auto& [argument, tensor] : example.inputs) {
    ExampleInput input{.argument = argument, .dims = tensor.dims()};
    const std::string& declared = schema.FindInput(argument)->dtype;
    const bool variable =
        std::any_of(schema.type_vars().begin(), schema.type_vars().end(),
                    [&](const auto& var) { return var.name == declared; });
    input.of_kernel = variable && tensor.dtype() == dtype;
    if (!input.of_kernel) input.dtype = tensor.dtype();
    std::tie(input.low, input.high) = ranges.Find(argument, tensor);
    input.low = Short(input.low);
    input.high = Short(input.high);
    described.inputs.push_back(std::move(input));
  }
  // If there are inputs, they define the kernel's dtype.
  const bool follows = example.inputs.empty();
  for (const auto& [name, value] : example.attributes) {
    const auto* its = std::get_if<DType>(&value);
    if (its != nullptr && *its == dtype && follows) {
      described.dtype_attributes.push_back(name);
    } else {
      described.attributes[name] = value;
    }
  }
  return described;
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
std::string LinesOf(const std::string& op, const OpCase& op_case) {
  std::vector<std::string> keys;
  std::map<std::string, std::vector<sluice::OpExample>> groups;
  for (const DType dtype : PlainDTypes(op)) {
    ExampleMaker make(dtype);
    const std::vector<OpExample> examples = op_case.examples(make);
    const Ranges ranges(examples);
    std::vector<sluice::OpExample> described;
    for (const OpExample& example : examples) {
      described.push_back(Describe(op, example, ranges, dtype));
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

std::string AllLines() {
  std::string lines =
      "# Written by sluice_write_examples from tests/operators/*_test.cc.\n";
  for (const auto& [op, op_case] : OpCases()) {
    if (Registry::Global().FindSchema(op) == nullptr) continue;
    lines += LinesOf(op, op_case);
  }
  return lines;
}

int Check(const std::string& path, const std::string& lines) {
  std::ifstream file(path);
  const std::string now{std::istreambuf_iterator<char>(file), {}};
  if (now == lines) return 0;
  std::istringstream a(lines), b(now);
  std::string expected, got;
  int number = 0;
  do {
    ++number;
    expected.clear();
    got.clear();
    std::getline(a, expected);
    std::getline(b, got);
  } while (expected == got);
  std::fprintf(stderr,
               "%s:%d is not what the ops' cases say; run "
               "sluice_write_examples %s\nexpected %s\ngot      %s\n",
               path.c_str(), number, path.c_str(), expected.c_str(),
               got.c_str());
  return 1;
}

int Main(int argc, char** argv) {
  CLI::App app("Writes the examples of the ops' cases");
  std::string path;
  bool check = false;
  app.add_option("file", path, "operators/examples.jsonl")->required();
  app.add_flag("--check", check, "Compare, and write nothing");
  CLI11_PARSE(app, argc, argv);
  const std::string lines = AllLines();
  if (check) return Check(path, lines);
  std::ofstream file(path);
  file << lines;
  return file.flush() ? 0 : 1;
}

}  // namespace
}  // namespace sluice::testing

int main(int argc, char** argv) {
  try {
    // The cases are in test files, whose tests do not run here.
    ::testing::InitGoogleTest();
    return sluice::testing::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
