#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sluice/platform/dtype.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

namespace internal {
using AttributeVariant = std::variant<bool,
                                      int64_t,
                                      double,
                                      std::string,
                                      std::vector<int64_t>,
                                      std::vector<double>,
                                      std::vector<std::string>,
                                      platform::DType>;
}  // namespace internal

// The value of an op's attribute. The order of the alternatives is stored in
// program files: add at the end only. It is the variant, but for its copy:
// that of libstdc++ 12 has undefined behaviour when memory runs out in it (it
// destroys the variant that is not there yet).
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

// The AttrType whose C++ type is T: AttrTypeOf<double>() == kFloat.
template <typename T>
constexpr AttrType AttrTypeOf() {
  return static_cast<AttrType>(Attribute(T{}).index());
}

// "bool", "int", "float", "string", "ints", "floats", "strings", "dtype".
SLUICE_API std::string_view ToString(AttrType type);
// As it reads in a program: 3, 0.5, "NCHW", [1, 2], float32.
SLUICE_API std::string ToString(const Attribute& value);

// `value` as `type` where nothing is lost by it (an int is also a float, an
// empty list is a list of anything); false when it is not of that type.
SLUICE_API bool ConvertAttribute(AttrType type, Attribute* value);

}  // namespace sluice::framework
