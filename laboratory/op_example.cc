#include "sluice/laboratory/op_example.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "sluice/framework/op/op_check.h"
#include "sluice/platform/error.h"

namespace sluice {

using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kOfKernel = "T";

// JSON has no infinities.
Json NumberToJson(double value) {
  if (std::isfinite(value)) return value;
  return Json{{"float", Format("{}", value)}};
}

Json RangeToJson(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) {
    return static_cast<int64_t>(value);
  }
  return NumberToJson(value);
}

Json ToJson(const Attribute& value) {
  return std::visit(
      []<typename T>(const T& alternative) -> Json {
        if constexpr (std::is_same_v<T, DType>) {
          return {{"dtype", std::string(ToString(alternative))}};
        } else if constexpr (std::is_same_v<T, double>) {
          return NumberToJson(alternative);
        } else {
          return alternative;
        }
      },
      static_cast<const Attribute::Variant&>(value));
}

Attribute ToAttribute(const Json& json) {
  switch (json.type()) {
    case Json::value_t::boolean:
      return json.get<bool>();
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return json.get<int64_t>();
    case Json::value_t::number_float:
      return json.get<double>();
    case Json::value_t::string:
      return json.get<std::string>();
    case Json::value_t::object:
      if (json.contains("dtype")) {
        return ParseDType(json.at("dtype").get<std::string>());
      }
      return std::strtod(json.at("float").get<std::string>().c_str(), nullptr);
    default:
      break;
  }
  if (json.empty()) return std::vector<int64_t>();
  if (json[0].is_string()) return json.get<std::vector<std::string>>();
  const bool integers = std::all_of(
      json.begin(), json.end(),
      [](const Json& element) { return element.is_number_integer(); });
  if (integers) return json.get<std::vector<int64_t>>();
  return json.get<std::vector<double>>();
}

std::vector<int64_t> Sizes(const DDim& dims) {
  return {dims.begin(), dims.end()};
}

ExampleInput ToInput(const Json& json) {
  ExampleInput input;
  input.argument = json.at(0).get<std::string>();
  const auto dtype = json.at(1).get<std::string>();
  input.of_kernel = dtype == kOfKernel;
  if (!input.of_kernel) input.dtype = ParseDType(dtype);
  input.dims = DDim(json.at(2).get<std::vector<int64_t>>());
  input.low = json.at(3).get<double>();
  input.high = json.at(4).get<double>();
  return input;
}

OpExample FromJson(const Json& json) {
  OpExample example;
  example.op = json.at("op").get<std::string>();
  const Json dtypes = json.value("dtypes", Json::array());
  for (const Json& name : dtypes) {
    example.dtypes.push_back(ParseDType(name.get<std::string>()));
  }
  for (const Json& input : json.at("inputs")) {
    example.inputs.push_back(ToInput(input));
  }
  const Json attributes = json.value("attributes", Json::object());
  for (const auto& [name, value] : attributes.items()) {
    if (value == Json{{"dtype", kOfKernel}}) {
      example.dtype_attributes.push_back(name);
    } else {
      example.attributes[name] = ToAttribute(value);
    }
  }
  return example;
}

using ByOp = std::map<std::string, std::vector<OpExample>, std::less<>>;

const ByOp& Builtin() {
  static const ByOp* const kExamples = [] {
    auto* by_op = new ByOp();
    for (OpExample& example :
         ParseExamples(BuiltinExampleLines(), "built-in")) {
      (*by_op)[example.op].push_back(std::move(example));
    }
    return by_op;
  }();
  return *kExamples;
}

}  // namespace

std::string ExampleToJson(const OpExample& example) {
  Json dtypes = Json::array();
  for (const DType dtype : example.dtypes) {
    dtypes.push_back(std::string(ToString(dtype)));
  }
  Json inputs = Json::array();
  for (const ExampleInput& input : example.inputs) {
    const std::string dtype =
        input.of_kernel ? kOfKernel : std::string(ToString(input.dtype));
    inputs.push_back({input.argument, dtype, Sizes(input.dims),
                      RangeToJson(input.low), RangeToJson(input.high)});
  }
  Json attributes = Json::object();
  for (const auto& [name, value] : example.attributes) {
    attributes[name] = ToJson(value);
  }
  for (const std::string& name : example.dtype_attributes) {
    attributes[name] = {{"dtype", kOfKernel}};
  }
  Json json = {{"op", example.op}};
  if (!dtypes.empty()) json["dtypes"] = dtypes;
  json["inputs"] = inputs;
  if (!attributes.empty()) json["attributes"] = attributes;
  return json.dump();
}

OpExample ExampleFromJson(std::string_view json, std::string_view where) {
  try {
    return FromJson(Json::parse(json));
  } catch (const std::exception& error) {
    Raise(ErrorCode::kInvalidArgument, "op_example.json",
          "{}: expected an example such as {{\"op\": \"relu\", "
          "\"inputs\": [[\"X\", \"T\", [2, 3], -1, 1]]}}: {}",
          where, error.what());
  }
}

namespace {

// Checks an example against its op's schema, except sizes and dtypes.
void CheckNames(const OpExample& example) {
  const OpSchema& schema = Registry::Global().Schema(example.op);
  OpDesc op;
  op.type = example.op;
  op.attributes = example.attributes;
  for (const std::string& name : example.dtype_attributes) {
    op.attributes[name] = DType::kFloat32;
  }
  for (const ExampleInput& input : example.inputs) {
    const auto same = std::find_if(
        op.inputs.begin(), op.inputs.end(),
        [&](const auto& bound) { return bound.first == input.argument; });
    if (same == op.inputs.end()) {
      op.inputs.push_back({input.argument, {input.argument}});
    } else {
      same->second.push_back(input.argument);
    }
  }
  for (const ArgDef& output : schema.outputs()) {
    op.outputs.push_back({output.name, {output.name}});
  }
  CompleteOp(schema, &op);
}

using EachExample =
    std::function<void(OpExample example, const std::string& where)>;

void ForEachExample(std::string_view lines,
                    std::string_view file,
                    const EachExample& each) {
  int number = 0;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const std::string where = Format("{}:{}", file, number);
    each(ExampleFromJson(line, where), where);
  }
}

}  // namespace

std::vector<OpExample> ParseExamples(std::string_view lines,
                                     std::string_view file) {
  std::vector<OpExample> examples;
  ForEachExample(lines, file, [&](OpExample example, const std::string&) {
    examples.push_back(std::move(example));
  });
  return examples;
}

std::vector<OpExample> ParseKnownExamples(std::string_view lines,
                                          std::string_view file) {
  std::vector<OpExample> examples;
  ForEachExample(lines, file, [&](OpExample example, const std::string& where) {
    try {
      CheckNames(example);
    } catch (const Error& error) {
      throw Error(error.code(), error.check_id(),
                  Format("{}: {}", where, error.what()));
    }
    examples.push_back(std::move(example));
  });
  return examples;
}

std::vector<std::string> OpsWithExamples() {
  std::vector<std::string> ops;
  for (const auto& [op, unused] : Builtin()) {
    ops.push_back(op);
  }
  return ops;
}

const std::vector<OpExample>& BuiltinExamples(std::string_view op) {
  static const std::vector<OpExample> kNone;
  const auto found = Builtin().find(op);
  return found == Builtin().end() ? kNone : found->second;
}

std::string ToString(const OpExample& example, DType dtype) {
  std::string text;
  const auto add = [&text](const std::string& part) {
    text += (text.empty() ? "" : ", ") + part;
  };
  for (const ExampleInput& input : example.inputs) {
    add(Format("{} {} {}", input.argument,
               input.of_kernel ? dtype : input.dtype, input.dims));
  }
  for (const auto& [name, value] : example.attributes) {
    add(Format("{} = {}", name, ToString(value)));
  }
  for (const std::string& name : example.dtype_attributes) {
    add(Format("{} = {}", name, dtype));
  }
  return text;
}

}  // namespace sluice
