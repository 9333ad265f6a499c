#include "sluice/framework/plan/block_values.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sluice/platform/place.h"

namespace sluice {

namespace {

// Copies element `index` along the axis out of (`gather`) or into the whole.
void CopySlice(const AxisView& view,
               int64_t index,
               size_t element_bytes,
               const char* from,
               char* to,
               bool gather) {
  const size_t run = static_cast<size_t>(view.inner) * element_bytes;
  if (run == 0) return;
  for (int64_t i = 0; i < view.outer; ++i) {
    const size_t in_whole = static_cast<size_t>(i * view.size + index) * run;
    const size_t in_part = static_cast<size_t>(i) * run;
    std::memcpy(to + (gather ? in_part : in_whole),
                from + (gather ? in_whole : in_part), run);
  }
}

}  // namespace

Tensor Extended(const Tensor& whole, int64_t axis, int64_t count) {
  const AxisView view(whole.dims(), axis);
  DDim dims = whole.dims();
  dims[view.axis] = count;
  Tensor extended;
  extended.Resize(dims).mutable_data(whole.dtype(), CPUPlace());
  for (int64_t i = 0; i < view.size; ++i) {
    SetSlice(SliceOf(whole, axis, i), axis, i, &extended);
  }
  ClearSlices(axis, view.size, &extended);
  return extended;
}

void ClearSlices(int64_t axis, int64_t first, Tensor* whole) {
  const AxisView view(whole->dims(), axis);
  const size_t run = static_cast<size_t>(view.inner) * SizeOf(whole->dtype());
  auto* to = static_cast<char*>(whole->raw_data());
  for (int64_t i = 0; i < view.outer; ++i) {
    std::memset(to + static_cast<size_t>(i * view.size + first) * run, 0,
                static_cast<size_t>(view.size - first) * run);
  }
}

void CheckLoopLimit(const std::string& op,
                    int64_t iteration,
                    const LoopBlock& loop) {
  SLUICE_ENFORCE(loop.max_trips == 0 || iteration < loop.max_trips,
                 ErrorCode::kResourceExhausted, "loop.max_trips",
                 "{}: {} iterations have run, and there would be more; "
                 "attribute max_trips = {} allows no more, set it higher if "
                 "the loop does end",
                 op, iteration, loop.max_trips);
  const int64_t limit = loop.limit;
  SLUICE_ENFORCE(iteration < limit, ErrorCode::kResourceExhausted, "loop.limit",
                 "{}: {} iterations have run, and there would be more; "
                 "attribute limit = {} allows no more, set it higher if the "
                 "loop does end",
                 op, iteration, limit);
}

AxisView::AxisView(const DDim& dims, int64_t at)
    : axis(static_cast<int>(at < 0 ? at + dims.rank() : at)) {
  for (int i = 0; i < dims.rank(); ++i) {
    (i < axis ? outer : i == axis ? size : inner) *= dims[i];
  }
}

Tensor SliceOf(const Tensor& whole, int64_t axis, int64_t index) {
  const AxisView view(whole.dims(), axis);
  DDim dims;
  for (int i = 0; i < whole.dims().rank(); ++i) {
    if (i != view.axis) dims.InsertDim(dims.rank(), whole.dims()[i]);
  }
  if (view.axis == 0) return whole.Slice(index, index + 1).Reshaped(dims);
  Tensor part;
  part.Resize(dims).mutable_data(whole.dtype(), CPUPlace());
  GetSlice(whole, axis, index, &part);
  return part;
}

void GetSlice(const Tensor& whole, int64_t axis, int64_t index, Tensor* part) {
  CopySlice(AxisView(whole.dims(), axis), index, SizeOf(whole.dtype()),
            static_cast<const char*>(whole.raw_data()),
            static_cast<char*>(part->raw_data()), true);
}

void SetSlice(const Tensor& part, int64_t axis, int64_t index, Tensor* whole) {
  CopySlice(AxisView(whole->dims(), axis), index, SizeOf(part.dtype()),
            static_cast<const char*>(part.raw_data()),
            static_cast<char*>(whole->raw_data()), false);
}

DDim StackedDims(const DDim& each, int64_t axis, int64_t count) {
  DDim dims = each.rank_known() ? each : DDim();
  for (int i = 0; i < dims.rank(); ++i) {
    dims[i] = std::max<int64_t>(dims[i], 0);
  }
  dims.InsertDim(static_cast<int>(axis < 0 ? axis + dims.rank() + 1 : axis),
                 count);
  return dims;
}

Tensor Stack(const std::vector<Tensor>& parts,
             const VarDesc& each,
             int64_t axis,
             bool reversed) {
  const auto count = static_cast<int64_t>(parts.size());
  Tensor stacked;
  stacked
      .Resize(
          StackedDims(parts.empty() ? each.dims : parts[0].dims(), axis, count))
      .mutable_data(each.dtype, CPUPlace());
  for (int64_t i = 0; i < count; ++i) {
    const Tensor& part = parts[static_cast<size_t>(i)];
    SLUICE_ENFORCE(part.dims() == parts[0].dims(), ErrorCode::kInvalidArgument,
                   "loop.stacked_shape",
                   "{} cannot be stacked: it has shape {} after iteration {} "
                   "and {} after the first",
                   each.name, part.dims(), i, parts[0].dims());
    SetSlice(part, axis, reversed ? count - 1 - i : i, &stacked);
  }
  return stacked;
}

}  // namespace sluice
