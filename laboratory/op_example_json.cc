#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include <nlohmann/json.hpp>

#include "sluice/laboratory/op_example.h"
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

}  // namespace sluice
