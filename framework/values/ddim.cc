#include "sluice/framework/values/ddim.h"

#include <algorithm>

#include "sluice/platform/error.h"

namespace sluice {

DDim::DDim(std::initializer_list<int64_t> sizes)
    : DDim(std::span<const int64_t>(sizes.begin(), sizes.size())) {}

DDim::DDim(std::span<const int64_t> sizes) {
  SLUICE_ENFORCE(sizes.size() <= kMaxRank, ErrorCode::kInvalidArgument,
                 "ddim.rank", "a shape has at most {} dimensions, got {}",
                 int{kMaxRank}, sizes.size());
  rank_ = static_cast<int32_t>(sizes.size());
  for (int axis = 0; axis < rank_; ++axis) {
    sizes_[axis] = sizes[axis];
    SLUICE_ENFORCE(sizes[axis] >= kUnknownDim, ErrorCode::kInvalidArgument,
                   "ddim.negative",
                   "a dimension is at least 0, or -1 while unknown; dim {} "
                   "is {}",
                   axis, sizes[axis]);
  }
}

DDim DDim::UnknownRank() {
  DDim dims;
  dims.rank_ = -1;
  return dims;
}

bool DDim::known() const {
  return rank_known() &&
         std::all_of(begin(), end(), [](int64_t size) { return size >= 0; });
}

int64_t DDim::at(int axis) const {
  const int index = axis < 0 ? axis + rank_ : axis;
  SLUICE_ENFORCE(index >= 0 && index < rank_, ErrorCode::kOutOfRange,
                 "ddim.axis", "axis {} is outside of shape {}", axis, *this);
  return sizes_[index];
}

void DDim::RaiseUnknownRank() {
  Raise(ErrorCode::kInvalidArgument, "ddim.unknown_rank",
        "the rank of the shape is not known yet");
}

int64_t DDim::Product(int first, int last) const {
  if (!rank_known()) RaiseUnknownRank();
  // The other sizes beside a zero must be ones that kernels can multiply, too.
  int64_t product = 1;
  bool overflow = false;
  bool empty = false;
  for (int axis = first; axis < last; ++axis) {
    SLUICE_ENFORCE(sizes_[axis] >= 0, ErrorCode::kInvalidArgument,
                   "ddim.unknown", "the size of dim {} of {} is not known yet",
                   axis, *this);
    empty |= sizes_[axis] == 0;
    overflow |= __builtin_mul_overflow(
        product, std::max<int64_t>(sizes_[axis], 1), &product);
  }
  SLUICE_ENFORCE(!overflow, ErrorCode::kOutOfRange, "ddim.overflow",
                 "the number of elements of {} does not fit into 64 bits",
                 *this);
  return empty ? 0 : product;
}

int64_t DDim::numel() const {
  return Product(0, rank_);
}

void DDim::RemoveDimRange(int first, int last) {
  if (last < 0) last += rank_ + 1;
  SLUICE_ENFORCE(first >= 0 && first <= last && last <= rank_,
                 ErrorCode::kOutOfRange, "ddim.remove_range",
                 "cannot remove dimensions [{}, {}) of {}", first, last, *this);
  std::copy(sizes_.begin() + last, sizes_.begin() + rank_,
            sizes_.begin() + first);
  rank_ -= last - first;
}

void DDim::InsertDim(int axis, int64_t size) {
  if (axis < 0) axis += rank_ + 1;
  SLUICE_ENFORCE(axis >= 0 && axis <= rank_ && rank_ < kMaxRank,
                 ErrorCode::kOutOfRange, "ddim.insert",
                 "cannot insert a dimension at {} into {}", axis, *this);
  std::copy_backward(sizes_.begin() + axis, sizes_.begin() + rank_,
                     sizes_.begin() + rank_ + 1);
  sizes_[axis] = size;
  ++rank_;
}

DDim DDim::Subshape(int first, int last) const {
  SLUICE_ENFORCE(first >= 0 && first <= last && last <= rank_,
                 ErrorCode::kOutOfRange, "ddim.subshape",
                 "dimensions [{}, {}) are outside of {}", first, last, *this);
  return DDim(std::span<const int64_t>(sizes_.data() + first,
                                       static_cast<size_t>(last - first)));
}

std::string ToString(const DDim& dims) {
  if (!dims.rank_known()) return "[...]";
  std::string text = "[";
  for (int axis = 0; axis < dims.rank(); ++axis) {
    if (axis > 0) text += ", ";
    text += dims[axis] < 0 ? "?" : std::to_string(dims[axis]);
  }
  return text + "]";
}

}  // namespace sluice
