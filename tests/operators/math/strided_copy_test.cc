#include "sluice/operators/math/strided_copy.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

using Strides = StridedCopy::Strides;

// Copies element by element, by coordinates.
template <typename T>
std::vector<T> Reference(const std::vector<T>& from,
                         const DDim& sizes,
                         const Strides& from_strides,
                         const Strides& to_strides,
                         size_t to_count) {
  std::vector<T> to(to_count);
  for (int64_t i = 0; i < sizes.numel(); ++i) {
    int64_t rest = i;
    int64_t source = 0;
    int64_t target = 0;
    for (int axis = sizes.rank() - 1; axis >= 0; --axis) {
      source += rest % sizes[axis] * from_strides[axis];
      target += rest % sizes[axis] * to_strides[axis];
      rest /= sizes[axis];
    }
    to[target] = from[source];
  }
  return to;
}

template <typename T>
void ExpectCopies(const DDim& sizes,
                  const Strides& from_strides,
                  const Strides& to_strides,
                  size_t from_count,
                  size_t to_count) {
  std::vector<T> from(from_count);
  std::iota(from.begin(), from.end(), T{1});
  std::vector<T> to(to_count);
  for (int threads : {1, 3}) {
    ThreadCountGuard guard(threads);
    std::fill(to.begin(), to.end(), T{});
    StridedCopy(sizes, from_strides, to_strides, sizeof(T))(from.data(),
                                                            to.data());
    EXPECT_EQ(to, Reference(from, sizes, from_strides, to_strides, to_count));
  }
}

// The box of `sizes` at the end of a buffer of `whole`, both ways.
void ExpectBoxes(const DDim& whole, const DDim& sizes) {
  const Strides inside = RowMajorStrides(whole);
  const Strides alone = RowMajorStrides(sizes);
  const auto whole_count = static_cast<size_t>(whole.numel());
  const auto count = static_cast<size_t>(sizes.numel());
  ExpectCopies<float>(sizes, inside, alone, whole_count, count);
  ExpectCopies<double>(sizes, alone, inside, count, whole_count);
}

TEST(StridedCopy, CutsAndPastesBoxes) {
  ExpectBoxes({}, {});
  ExpectBoxes({7}, {5});
  ExpectBoxes({4, 10}, {3, 6});
  ExpectBoxes({4, 10}, {4, 10});
  ExpectBoxes({4, 10}, {4, 1});
  ExpectBoxes({3, 4, 5, 6}, {2, 4, 5, 6});
  ExpectBoxes({3, 4, 5, 6}, {3, 2, 5, 6});
  ExpectBoxes({3, 4, 5, 6}, {2, 3, 1, 4});
  ExpectBoxes({2, 2, 2, 2, 2, 2, 2, 3}, {2, 1, 2, 1, 2, 1, 2, 2});
}

TEST(StridedCopy, SplitsLargeBoxesOverThreads) {
  ExpectBoxes({301, 500}, {300, 499});
  ExpectBoxes({70, 41, 50}, {67, 40, 47});
  ExpectBoxes({100000}, {99999});
}

TEST(StridedCopy, TransposesMatricesOfEveryElementSize) {
  for (const DDim& sizes : {DDim{1, 5}, DDim{33, 64}, DDim{100, 257}}) {
    Strides from{};
    from[0] = 1;
    from[1] = sizes[0];
    const auto count = static_cast<size_t>(sizes.numel());
    const Strides to = RowMajorStrides(sizes);
    ExpectCopies<uint8_t>(sizes, from, to, count, count);
    ExpectCopies<uint16_t>(sizes, from, to, count, count);
    ExpectCopies<float>(sizes, from, to, count, count);
    ExpectCopies<double>(sizes, from, to, count, count);
  }
}

TEST(StridedCopy, CopiesNothingFromAnEmptyBox) {
  for (const DDim& sizes : {DDim{0}, DDim{0, 3}, DDim{3, 0}, DDim{2, 0, 2}}) {
    StridedCopy copy(sizes, RowMajorStrides(sizes), RowMajorStrides(sizes), 4);
    copy(nullptr, nullptr);
  }
  StridedCopy()(nullptr, nullptr);
}

TEST(CopyBytes, CopiesAllOfThemAndFillZeroClearsThem) {
  std::vector<char> from(200001, 7);
  std::vector<char> to(from.size(), 1);
  CopyBytes(from.data(), to.data(), from.size() - 1);
  EXPECT_EQ(std::vector<char>(to.begin(), to.end() - 1),
            std::vector<char>(from.begin(), from.end() - 1));
  EXPECT_EQ(to.back(), 1);
  FillZero(to.data(), to.size() - 1);
  EXPECT_EQ(std::count(to.begin(), to.end(), 0), 200000);
  EXPECT_EQ(to.back(), 1);
}

}  // namespace
}  // namespace sluice
