#include "tests/operators/harness/op_case.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "sluice/framework/values/tensor_values.h"
#include "sluice/platform/error.h"
#include "sluice/platform/number_format.h"

namespace sluice::testing {

namespace {

std::map<std::string, OpCase>& MutableOpCases() {
  static std::map<std::string, OpCase> cases;
  return cases;
}

}  // namespace

size_t Array::Offset(const std::vector<int64_t>& index) const {
  int64_t offset = 0;
  for (int axis = 0; axis < dims.rank(); ++axis) {
    const int64_t at = index.at(axis);
    if (at < 0 || at >= dims[axis]) {
      throw std::out_of_range(
          Format("the reference reads index {} of {}", at, dims));
    }
    offset = offset * dims[axis] + at;
  }
  return static_cast<size_t>(offset);
}

std::vector<int64_t> Array::IndexOf(int64_t offset) const {
  std::vector<int64_t> index(dims.rank());
  for (int axis = dims.rank() - 1; axis >= 0; --axis) {
    index[axis] = offset % dims[axis];
    offset /= dims[axis];
  }
  return index;
}

Array ToArray(const Tensor& tensor) {
  Array array(tensor.dims());
  array.dtype = tensor.dtype();
  array.values = ToDoubles(tensor);
  return array;
}

Tensor ToTensor(const Array& array, DType dtype) {
  return FromDoubles(dtype, array.dims, array.values);
}

int64_t ExampleMaker::Integer(int64_t low, int64_t high) {
  state_ = state_ * 1664525u + 1013904223u;
  return low + static_cast<int64_t>(state_ >> 8) % (high - low + 1);
}

Tensor ExampleMaker::Integers(DType dtype,
                              const DDim& dims,
                              int64_t low,
                              int64_t high) {
  Array array(dims);
  for (double& value : array.values) {
    value = static_cast<double>(Integer(low, high));
  }
  return ToTensor(array, dtype);
}

Tensor ExampleMaker::Values(const DDim& dims) {
  const NumberFormat& format = FormatOf(dtype_);
  if (!format.is_float()) {
    // Limited by the few bits.
    const int64_t end = int64_t{1} << std::min(int{format.bits}, 8);
    return format.is_signed
               ? Integers(dtype_, dims, -std::min<int64_t>(9, end / 2),
                          std::min<int64_t>(9, end / 2 - 1))
               : Integers(dtype_, dims, 0, std::min<int64_t>(19, end - 1));
  }
  if (IsStoredNumber(dtype_)) return Codes(dims);
  Array array(dims);
  for (double& value : array.values) {
    if (dtype_ == DType::kFloat64) {
      // A permutation of 0 to 10006 (10007 is prime), then repeated.
      const int64_t place = distinct_++ * 3719 % 10007;
      value = (static_cast<double>(place) - 5003) * kSpacing;
    } else {
      value = static_cast<double>(Integer(-96, 96)) / 64;
    }
  }
  return ToTensor(array, dtype_);
}

// Numbers that the dtype represents, and larger floats.
Tensor ExampleMaker::Codes(const DDim& dims) {
  const auto numbers = StoredValues(dtype_);
  Array array(dims);
  for (double& value : array.values) {
    do {
      value = numbers[static_cast<size_t>(Integer(0, 255))];
    } while (!std::isfinite(value) || std::fabs(value) > 200 ||
             (value != 0 && std::fabs(value) < 0x1p-6));
  }
  return ToTensor(array, dtype_);
}

const std::map<std::string, OpCase>& OpCases() {
  return MutableOpCases();
}

bool AddOpCase(const std::string& op, OpCase op_case) {
  if (MutableOpCases().emplace(op, std::move(op_case)).second) return true;
  throw std::logic_error("two cases for " + op);
}

const std::vector<OpExample>& ExamplesOf(const std::string& op, DType dtype) {
  static std::string last;
  static std::map<DType, std::vector<OpExample>> kept;
  if (op != last) kept.clear();
  last = op;
  if (const auto at = kept.find(dtype); at != kept.end()) return at->second;
  ExampleMaker make(dtype);
  return kept[dtype] = OpCases().at(op).examples(make);
}

}  // namespace sluice::testing
