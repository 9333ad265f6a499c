#include "sluice/framework/values/tensor_values.h"

#include <algorithm>
#include <bit>
#include <type_traits>

#include <Eigen/Core>

#include "sluice/platform/number_format.h"
#include "sluice/platform/text.h"

namespace sluice {

namespace {
double Widen(float16 value) {
  return static_cast<double>(std::bit_cast<Eigen::half>(value));
}
double Widen(bfloat16 value) {
  return static_cast<double>(std::bit_cast<Eigen::bfloat16>(value));
}
template <DType kDType>
double Widen(StoredNumber<kDType> value) {
  return StoredValues(kDType)[value.bits];
}
template <typename T>
double Widen(T value) {
  return static_cast<double>(value);
}

template <typename T>
T Round(double value) {
  if constexpr (std::is_same_v<T, float16>) {
    return std::bit_cast<T>(Eigen::half(static_cast<float>(value)));
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    return std::bit_cast<T>(Eigen::bfloat16(static_cast<float>(value)));
  } else if constexpr (IsStoredNumber(kDTypeOf<T>)) {
    return {EncodeNumber(kDTypeOf<T>, value)};
  } else {
    return static_cast<T>(value);
  }
}
}  // namespace

std::vector<double> ToDoubles(const Tensor& tensor) {
  return VisitDType(tensor.dtype(), [&]<typename T>() {
    const std::vector<T> values = tensor.ToVector<T>();
    std::vector<double> doubles;
    doubles.reserve(values.size());
    for (const T value : values) {
      doubles.push_back(Widen(value));
    }
    return doubles;
  });
}

Tensor FromDoubles(DType dtype,
                   const DDim& dims,
                   const std::vector<double>& values) {
  return VisitDType(dtype, [&]<typename T>() {
    std::vector<T> rounded(values.size());
    std::transform(values.begin(), values.end(), rounded.begin(), Round<T>);
    return Tensor::FromVector(dims, rounded);
  });
}

bool AreDoubles(const Tensor& tensor) {
  return VisitDType(tensor.dtype(), [&]<typename T>() {
    // Shorter integers always are.
    if constexpr (std::is_integral_v<T> && sizeof(T) == sizeof(int64_t)) {
      const std::vector<T> values = tensor.ToVector<T>();
      return std::all_of(values.begin(), values.end(), [](T value) {
        const auto bits = static_cast<uint64_t>(value);
        return IsDouble(value < T{0} ? -bits : bits);
      });
    }
    return true;
  });
}

std::string IndexText(const DDim& dims, int64_t element) {
  std::string index;
  for (int axis = dims.rank() - 1; axis >= 0; --axis) {
    const int64_t size = std::max<int64_t>(dims[axis], 1);
    index = Format("{}{}{}", element % size, index.empty() ? "" : ", ", index);
    element /= size;
  }
  return Format("[{}]", index);
}

}  // namespace sluice
