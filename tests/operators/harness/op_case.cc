#include "tests/operators/harness/op_case.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include <Eigen/Core>
#include <gtest/gtest.h>

#include "sluice/platform/number_format.h"

namespace sluice::testing {

using framework::DDim;
using framework::Tensor;
using platform::bfloat16;
using platform::DType;
using platform::float16;

namespace {

template <typename T>
double ToDouble(T value) {
  if constexpr (std::is_same_v<T, float16>) {
    return static_cast<float>(std::bit_cast<Eigen::half>(value));
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    return static_cast<float>(std::bit_cast<Eigen::bfloat16>(value));
  } else if constexpr (platform::IsStoredNumber(platform::kDTypeOf<T>)) {
    return platform::StoredValues(platform::kDTypeOf<T>)[value.bits];
  } else {
    return static_cast<double>(value);
  }
}

template <typename T>
T FromDouble(double value) {
  if constexpr (std::is_same_v<T, float16>) {
    return std::bit_cast<T>(Eigen::half(static_cast<float>(value)));
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    return std::bit_cast<T>(Eigen::bfloat16(static_cast<float>(value)));
  } else if constexpr (platform::IsStoredNumber(platform::kDTypeOf<T>)) {
    return {platform::EncodeNumber(platform::kDTypeOf<T>, value)};
  } else {
    return static_cast<T>(value);
  }
}

std::map<std::string, OpCase>& MutableOpCases() {
  static std::map<std::string, OpCase> cases;
  return cases;
}

}  // namespace

size_t Array::Offset(const std::vector<int64_t>& index) const {
  EXPECT_EQ(static_cast<int>(index.size()), dims.rank());
  int64_t offset = 0;
  for (int axis = 0; axis < dims.rank(); ++axis) {
    EXPECT_TRUE(index[axis] >= 0 && index[axis] < dims[axis])
        << "the reference reads index " << index[axis] << " of "
        << ToString(dims);
    offset = offset * dims[axis] + index[axis];
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
  platform::VisitDType(tensor.dtype(), [&]<typename T>() {
    const std::vector<T> values = tensor.ToVector<T>();
    for (size_t i = 0; i < values.size(); ++i) {
      array.values[i] = ToDouble<T>(values[i]);
    }
  });
  return array;
}

Tensor ToTensor(const Array& array, DType dtype) {
  return platform::VisitDType(dtype, [&]<typename T>() {
    std::vector<T> values(array.values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = FromDouble<T>(array.values[i]);
    }
    return Tensor::FromVector(array.dims, values);
  });
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
  const platform::NumberFormat& format = platform::FormatOf(dtype_);
  if (!format.is_float()) {
    // Limited by the few bits.
    const int64_t end = int64_t{1} << std::min(int{format.bits}, 8);
    return format.is_signed
               ? Integers(dtype_, dims, -std::min<int64_t>(9, end / 2),
                          std::min<int64_t>(9, end / 2 - 1))
               : Integers(dtype_, dims, 0, std::min<int64_t>(19, end - 1));
  }
  if (platform::IsStoredNumber(dtype_)) return Codes(dims);
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
  const auto numbers = platform::StoredValues(dtype_);
  Array array(dims);
  for (double& value : array.values) {
    do {
      value = numbers[static_cast<size_t>(Integer(0, 255))];
    } while (!std::isfinite(value) || std::fabs(value) > 200 ||
             (value != 0 && std::fabs(value) < 0x1p-6));
  }
  return ToTensor(array, dtype_);
}

double Tolerance(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return 1e-13;
    case DType::kFloat32:
      return 1e-6;
    case DType::kFloat16:
      return 1.0 / (1 << 10);
    case DType::kBFloat16:
      return 1.0 / (1 << 7);
    default:
      return 0;
  }
}

const std::map<std::string, OpCase>& OpCases() {
  return MutableOpCases();
}

bool AddOpCase(const std::string& op, OpCase op_case) {
  if (MutableOpCases().emplace(op, std::move(op_case)).second) return true;
  throw std::logic_error("two cases for " + op);
}

}  // namespace sluice::testing
