#pragma once

#include <initializer_list>

#include "sluice/python/bindings/bindings.h"

// Lists and dicts that bound functions return. All functions need the GIL.
namespace sluice::python {

// One key of a dict, with a value that nanobind or a caster of bindings.h
// converts.
struct Field {
  template <typename T>
  Field(const char* name, const T& value)
      : name(name), value(nb::cast(value)) {}
  const char* name;
  nb::object value;
};

inline nb::dict DictOf(std::initializer_list<Field> fields) {
  nb::dict dict;
  for (const Field& field : fields) {
    dict[field.name] = field.value;
  }
  return dict;
}

// Returns {key: convert(value)}.
template <typename Pairs, typename Convert>
nb::dict ToDict(const Pairs& pairs, Convert convert) {
  nb::dict dict;
  for (const auto& [key, value] : pairs) {
    dict[nb::str(key.data(), key.size())] = convert(value);
  }
  return dict;
}

// Returns [convert(element)].
template <typename Range, typename Convert>
nb::list ToList(const Range& range, Convert convert) {
  nb::list list;
  for (const auto& each : range) {
    list.append(convert(each));
  }
  return list;
}

}  // namespace sluice::python
