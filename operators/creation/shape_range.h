#pragma once

#include <algorithm>
#include <cstdint>

namespace sluice {

// The range [begin, end) of X's `rank` dims whose sizes op shape returns.
struct ShapeRange {
  int begin = 0;
  int end = 0;

  ShapeRange() = default;
  ShapeRange(int rank, int64_t from, int64_t to)
      : begin(Cut(rank, from)), end(std::max(begin, Cut(rank, to))) {}

  int count() const { return end - begin; }

 private:
  static int Cut(int rank, int64_t axis) {
    return static_cast<int>(
        std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank));
  }
};

}  // namespace sluice
