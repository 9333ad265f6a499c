#include "sluice/framework/values/attribute.h"

#include <algorithm>
#include <type_traits>

#include "sluice/framework/values/tensor_values.h"
#include "sluice/platform/error.h"

namespace sluice {

// Constructs each alternative in place, so that a failure leaves no damage.
Attribute::Attribute(const Attribute& other)
    : Variant(std::visit(
          [](const auto& held) {
            using Held = std::remove_cvref_t<decltype(held)>;
            return Variant(std::in_place_type<Held>, held);
          },
          static_cast<const Variant&>(other))) {}

std::string_view ToString(AttrType type) {
  switch (type) {
    case AttrType::kBool:
      return "bool";
    case AttrType::kInt:
      return "int";
    case AttrType::kFloat:
      return "float";
    case AttrType::kString:
      return "string";
    case AttrType::kInts:
      return "ints";
    case AttrType::kFloats:
      return "floats";
    case AttrType::kStrings:
      return "strings";
    case AttrType::kDType:
      return "dtype";
  }
  return "unknown";
}

namespace {

std::string Text(bool value) {
  return value ? "true" : "false";
}
std::string Text(int64_t value) {
  return std::to_string(value);
}
std::string Text(double value) {
  return Format("{}", value);
}
std::string Text(const std::string& value) {
  return '"' + value + '"';
}
std::string Text(DType value) {
  return std::string(ToString(value));
}
template <typename T>
std::string Text(const std::vector<T>& values) {
  std::string text = "[";
  for (const T& value : values) {
    if (text.size() > 1) text += ", ";
    text += Text(value);
  }
  return text + "]";
}

}  // namespace

std::string ToString(const Attribute& value) {
  return std::visit([](const auto& held) { return Text(held); }, value);
}

bool ConvertAttribute(AttrType type, Attribute* value) {
  if (TypeOf(*value) == type) return true;
  const auto is_exact = [](int64_t number) {
    const auto bits = static_cast<uint64_t>(number);
    return IsDouble(number < 0 ? -bits : bits);
  };
  if (type == AttrType::kFloat && TypeOf(*value) == AttrType::kInt) {
    const int64_t number = std::get<int64_t>(*value);
    if (!is_exact(number)) return false;
    *value = static_cast<double>(number);
    return true;
  }
  const auto* ints = std::get_if<std::vector<int64_t>>(value);
  if (type == AttrType::kFloats && ints != nullptr &&
      std::all_of(ints->begin(), ints->end(), is_exact)) {
    *value = std::vector<double>(ints->begin(), ints->end());
    return true;
  }
  if (type == AttrType::kStrings && ints != nullptr && ints->empty()) {
    *value = std::vector<std::string>();
    return true;
  }
  return false;
}

}  // namespace sluice
