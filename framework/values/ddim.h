#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "sluice/platform/export.h"

namespace sluice {

inline constexpr int64_t kUnknownDim = -1;

// A shape of at most kMaxRank dimensions, stored inline. In programs dimensions
// and the rank may be unknown (-1); a Tensor's shape is always known. A value
// type; not synchronised.
class SLUICE_API DDim {
 public:
  static constexpr int kMaxRank = 8;

  // A scalar: rank 0, one element.
  DDim() = default;
  // Raises InvalidArgument past kMaxRank or for a size below -1.
  DDim(std::initializer_list<int64_t> sizes);  // NOLINT
  explicit DDim(std::span<const int64_t> sizes);
  explicit DDim(const std::vector<int64_t>& sizes)
      : DDim(std::span<const int64_t>(sizes)) {}

  static DDim UnknownRank();

  // -1 when the rank is unknown.
  int rank() const { return rank_; }
  bool rank_known() const { return rank_ >= 0; }
  // True when the rank and every size are known.
  bool known() const;

  // Returns the size of an axis, counted from 0. Raises InvalidArgument while
  // the rank is unknown: then axes have no sizes, not even unknown ones.
  int64_t operator[](int axis) const {
    if (rank_ < 0) [[unlikely]] {
      RaiseUnknownRank();
    }
    return sizes_[axis];
  }
  int64_t& operator[](int axis) {
    if (rank_ < 0) [[unlikely]] {
      RaiseUnknownRank();
    }
    return sizes_[axis];
  }
  // Checked; a negative axis counts from the end. Raises OutOfRange.
  int64_t at(int axis) const;
  const int64_t* begin() const { return sizes_.data(); }
  const int64_t* end() const { return sizes_.data() + (rank_ < 0 ? 0 : rank_); }

  // Returns the number of elements. Raises InvalidArgument while a size is
  // unknown and OutOfRange when it does not fit into int64.
  int64_t numel() const;
  // Returns the number of elements in axes [first, last). Raises as numel does.
  int64_t Product(int first, int last) const;

  // Removes axes [first, last). A negative `last` counts from one past the
  // end, as in TensorFlow: RemoveDimRange(1, -2) on rank 4 removes axes 1, 2.
  void RemoveDimRange(int first, int last);
  void InsertDim(int axis, int64_t size);
  // Returns axes [first, last) as a shape.
  DDim Subshape(int first, int last) const;

  // Inline, because every run compares every output with its planned shape.
  bool operator==(const DDim& other) const {
    if (rank_ != other.rank_) return false;
    for (int axis = 0; axis < rank_; ++axis) {
      if (sizes_[axis] != other.sizes_[axis]) return false;
    }
    return true;
  }

 private:
  [[noreturn]] static void RaiseUnknownRank();

  std::array<int64_t, kMaxRank> sizes_{};
  int32_t rank_ = 0;
};

// "[4, 10]", "[?, 10]", "[...]" for an unknown rank.
SLUICE_API std::string ToString(const DDim& dims);

}  // namespace sluice
