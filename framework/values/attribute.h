#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sluice/platform/dtype.h"
#include "sluice/platform/export.h"

namespace sluice {

namespace internal {
using AttributeVariant = std::variant<bool,
                                      int64_t,
                                      double,
                                      std::string,
                                      std::vector<int64_t>,
                                      std::vector<double>,
                                      std::vector<std::string>,
                                      DType>;
}  // namespace internal

// The value of an op's attribute. Program files store the index of the
// alternative: add new ones at the end only. The class replaces the variant's
// copy constructor: that of libstdc++ 12 has undefined behaviour when memory
// runs out (it destroys a variant that was not constructed).
class SLUICE_API Attribute : public internal::AttributeVariant {
 public:
  using Variant = internal::AttributeVariant;
  using Variant::Variant;
  using Variant::operator=;

  Attribute() = default;
  Attribute(const Attribute& other);
  Attribute(Attribute&&) = default;
  Attribute& operator=(const Attribute&) = default;
  Attribute& operator=(Attribute&&) = default;
  ~Attribute() = default;
};

enum class AttrType : uint8_t {
  kBool,
  kInt,
  kFloat,
  kString,
  kInts,
  kFloats,
  kStrings,
  kDType,
};

using AttributeMap = std::map<std::string, Attribute, std::less<>>;

inline AttrType TypeOf(const Attribute& value) {
  return static_cast<AttrType>(value.index());
}

// Returns the AttrType whose C++ type is T: AttrTypeOf<double>() == kFloat.
template <typename T>
constexpr AttrType AttrTypeOf() {
  return static_cast<AttrType>(Attribute(T{}).index());
}

// "bool", "int", "float", "string", "ints", "floats", "strings", "dtype".
SLUICE_API std::string_view ToString(AttrType type);
// Formats a value as in a program: 3, 0.5, "NCHW", [1, 2], float32.
SLUICE_API std::string ToString(const Attribute& value);

// Converts `value` to `type` if that loses nothing (an int is also a float, an
// empty list is a list of anything); else returns false.
SLUICE_API bool ConvertAttribute(AttrType type, Attribute* value);

}  // namespace sluice
