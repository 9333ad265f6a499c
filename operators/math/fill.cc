#include "sluice/operators/math/fill.h"

#include <algorithm>
#include <cstring>

#include "sluice/platform/dtype.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

constexpr int64_t kFillGrain = 32768;
// The first elements are written one by one and then copied to the others:
// memcpy runs at memory speed for every element size.
constexpr int64_t kPattern = 512;

}  // namespace

template <typename T>
void FillContiguous(T value, int64_t count, T* to) {
  const int64_t pattern = std::min(count, kPattern);
  std::fill(to, to + pattern, value);
  for (int64_t done = pattern; done < count; done += pattern) {
    std::memcpy(
        to + done, to,
        static_cast<size_t>(std::min(pattern, count - done)) * sizeof(T));
  }
}

template <typename T>
void Fill(T value, int64_t count, T* to) {
  ParallelFor(count, kFillGrain, [value, to](int64_t begin, int64_t end) {
    FillContiguous(value, end - begin, to + begin);
  });
}

SLUICE_INSTANTIATE_NUMBERS(FillContiguous);
SLUICE_INSTANTIATE(FillContiguous, bool);
SLUICE_INSTANTIATE_NUMBERS(Fill);
SLUICE_INSTANTIATE(Fill, bool);

void FillBytes(const void* value, size_t size, int64_t count, void* to) {
  const auto fill = [=]<typename T>(T element) {
    std::memcpy(&element, value, sizeof(T));
    Fill(element, count, static_cast<T*>(to));
  };
  switch (size) {
    case 1:
      return fill(uint8_t{});
    case 2:
      return fill(uint16_t{});
    case 4:
      return fill(uint32_t{});
    default:
      return fill(uint64_t{});
  }
}

}  // namespace sluice
