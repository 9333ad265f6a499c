#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "sluice/platform/export.h"

namespace sluice::framework {

inline constexpr int64_t kUnknownDim = -1;

// A shape of at most kMaxRank dimensions, held inline. In programs a dimension
// may be unknown (-1) and so may the rank; a Tensor's shape is always known.
// A value type; not synchronised.
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

  // The size of an axis from 0 on. Raises InvalidArgument while the rank is
  // unknown: there is no size to read then, not even an unknown one.
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

  // The number of elements. Raises InvalidArgument while a size is unknown and
  // OutOfRange when the product does not fit into int64.
  int64_t numel() const;
  // The product of the sizes of axes [first, last). Raises as numel.
  int64_t Product(int first, int last) const;

  // Removes axes [first, last). A negative `last` counts from one past the
  // end, as in TensorFlow: RemoveDimRange(1, -2) on rank 4 removes axes 1, 2.
  void RemoveDimRange(int first, int last);
  void InsertDim(int axis, int64_t size);
  // Axes [first, last) as a shape of their own.
  DDim Subshape(int first, int last) const;

  // Inline: every output of every op is compared with its plan in every run.
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

}  // namespace sluice::framework
