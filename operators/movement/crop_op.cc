#include <algorithm>

#include "sluice/operators/movement/copy_kernel.h"
#include "sluice/operators/movement/crop_kernel.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"
#include "sluice/platform/device_context.h"

namespace sluice {

namespace {

// Returns the shape of the box from Y or from attribute shape. A size is -1 if
// the box extends to the end of X or if the size is unknown.
DDim RequestedShape(const InferShapeContext& context, const ShapeHandle& x) {
  const Ints& shape = context.Attr<Ints>("shape");
  const bool has_y = context.HasInput("Y");
  context.Require(!has_y || shape.empty(), "crop.shape_twice",
                  "the shape must come from input Y or from attribute shape, "
                  "got both");
  if (has_y) {
    const ShapeHandle y = context.input("Y");
    return x.dims.rank_known() ? context.WithRank(y, x.rank()).dims : y.dims;
  }
  context.Require(!shape.empty() || x.rank() <= 0, "crop.shape_missing",
                  "needs attribute shape or input Y to say what to cut from "
                  "input X {}, got neither",
                  x.dims);
  const auto rank = static_cast<int64_t>(shape.size());
  context.Require(
      x.dims.rank_known() ? rank == x.rank() : rank <= DDim::kMaxRank,
      "crop.shape_rank",
      "attribute shape has {} entries; expected one for each dim of input X {}",
      rank, x.dims);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    context.Require(shape[axis] >= -1, "crop.shape_negative",
                    "shape[{}] = {}; expected a size, or -1 for everything "
                    "from the offset on",
                    axis, shape[axis]);
  }
  return DDim(shape);
}

// Returns attribute offsets; it is empty if there is an input Offsets.
Ints KnownOffsets(const InferShapeContext& context, const ShapeHandle& x) {
  const Ints& offsets = context.Attr<Ints>("offsets");
  if (context.HasInput("Offsets")) {
    context.Require(offsets.empty(), "crop.offsets_twice",
                    "the offsets must come from input Offsets or from "
                    "attribute offsets, got both");
    const ShapeHandle given = context.WithRank(context.input("Offsets"), 1);
    if (x.dims.rank_known()) {
      context.WithValue(context.Dim(given, 0), x.rank());
    }
    return {};
  }
  const auto rank = static_cast<int64_t>(offsets.size());
  context.Require(
      !x.dims.rank_known() || rank == x.rank() || offsets.empty(),
      "crop.offsets_rank",
      "attribute offsets has {} entries; expected one for each dim of input X "
      "{}",
      rank, x.dims);
  return offsets;
}

// Checks what is known of a size before input Offsets is read.
void CheckSize(const InferShapeContext& context,
               const DDim& x,
               int axis,
               int64_t size) {
  context.Require(size >= 0 || context.HasInput("Y"), "crop.shape_to_end",
                  "shape[{}] = -1 (everything from the offset on) needs the "
                  "offset as an attribute, got input Offsets",
                  axis);
  context.Require(x[axis] < 0 || size <= x[axis], "crop.shape_range",
                  "shape[{}] = {} is more than input X has (dim {} of {})",
                  axis, size, axis, x);
}

// Returns one size of the box. Checks its offset and its end.
int64_t BoxSize(const InferShapeContext& context,
                const DDim& x,
                int axis,
                int64_t offset,
                int64_t size) {
  context.Require(offset >= 0, "crop.offset_negative",
                  "offsets[{}] = {} is negative; expected 0 or more", axis,
                  offset);
  int64_t end = offset;
  const bool fits = size < 0 || !__builtin_add_overflow(offset, size, &end);
  context.Require(fits, "crop.offset_overflow",
                  "offsets[{}] + shape[{}] = {} + {} does not fit into 64 bits",
                  axis, axis, offset, size);
  if (x[axis] < 0) return size;
  if (size < 0) {
    context.Require(offset <= x[axis], "crop.offset_past_end",
                    "offsets[{}] = {} is past the end of input X (dim {} of "
                    "{})",
                    axis, offset, axis, x);
    return context.HasInput("Y") ? size : x[axis] - offset;
  }
  context.Require(end <= x[axis], "crop.offset_range",
                  "offsets[{}] + shape[{}] = {} is past the end of input X "
                  "(dim {} of {})",
                  axis, axis, end, axis, x);
  return size;
}

DDim BoxShape(const InferShapeContext& context) {
  const ShapeHandle x = context.input("X");
  const Ints offsets = KnownOffsets(context, x);
  DDim box = RequestedShape(context, x);
  if (!x.dims.rank_known() || !box.rank_known()) return box;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (context.HasInput("Offsets")) {
      CheckSize(context, x.dims, axis, box[axis]);
    } else {
      const int64_t offset = offsets.empty() ? 0 : offsets[axis];
      box[axis] = BoxSize(context, x.dims, axis, offset, box[axis]);
    }
  }
  return box;
}

void CropSchema(OpSchema& op) {
  op.Doc(
      "Cuts the box out of X that begins at the offsets and has the given "
      "shape: Out[i, j, ...] = X[offsets[0] + i, offsets[1] + j, ...].");
  op.TypeVar("T", AllDTypes()).TypeVar("U", AllDTypes());
  op.TypeVar("S", IndexDTypes());
  op.Input("X", "T", "The tensor to cut from, of any rank.");
  op.Input("Y", "U", "Of the rank of X: the box is cut in the shape of Y.",
           {.optional = true, .shape_only = true});
  op.Input("Offsets", "S",
           "[rank of X]: the offsets, checked when the op runs.",
           {.optional = true, .host = true});
  op.Output("Out", "T", "The box.");
  op.Attr<Ints>("offsets",
                "The first element of the box in each dimension; empty means "
                "all 0. Not together with input Offsets.")
      .Default(Ints());
  op.Attr<Ints>("shape",
                "The sizes of the box; -1 means everything from the offset "
                "on. Needed when there is no input Y.")
      .Default(Ints());
  op.InferShape(OutShape<BoxShape>);
}

constexpr GradientOp kCropGrad = {
    .forward = CropSchema,
    .doc =
        "The gradient of crop: the gradient of the box where X was cut, 0 "
        "elsewhere.",
    .inputs = {ShapeOf("X"), "Y", "Offsets"},
    .dims = BoxShape};

}  // namespace

REGISTER_OPERATOR(crop, WithGradient<kCropGrad>);
REGISTER_OPERATOR(crop_grad, GradientSchema<kCropGrad>);

CropBox::CropBox(const OpKernelConstruction& construction)
    : offsets_(construction.Attr<std::vector<int64_t>>("offsets")) {}

void CropBox::Prepare(const DDim& x, const DDim& box) {
  x_ = x;
  box_ = box;
  x_strides_ = RowMajorStrides(x);
  strides_ = RowMajorStrides(box);
}

int64_t CropBox::First(const OpKernelContext& context) const {
  if (x_.rank() > 0 && context.HasInput("Offsets")) {
    const Tensor& offsets = context.Input("Offsets");
    return offsets.dtype() == DType::kInt32 ? FirstAt(offsets.data<int32_t>())
                                            : FirstAt(offsets.data<int64_t>());
  }
  int64_t first = 0;
  for (size_t axis = 0; axis < offsets_.size(); ++axis) {
    first += offsets_[axis] * x_strides_[axis];
  }
  return first;
}

template <typename Index>
int64_t CropBox::FirstAt(const Index* offsets) const {
  int64_t first = 0;
  for (int axis = 0; axis < x_.rank(); ++axis) {
    const int64_t offset = offsets[axis];
    SLUICE_ENFORCE(offset >= 0, ErrorCode::kOutOfRange,
                   "crop.offset_negative_at_run",
                   "crop: input Offsets[{}] = {} is negative; expected 0 or "
                   "more",
                   axis, offset);
    // The shape function has checked that the box is not larger than X.
    SLUICE_ENFORCE(offset <= x_[axis] - box_[axis], ErrorCode::kOutOfRange,
                   "crop.offset_range_at_run",
                   "crop: input Offsets[{}] = {} puts a box of {} past the end "
                   "of input X (dim {} of {})",
                   axis, offset, box_[axis], axis, x_);
    first += offset * x_strides_[axis];
  }
  return first;
}

void CropBox::CopyRows(const OpKernelContext& context,
                       const void* from,
                       void* to,
                       size_t element_size) const {
  const int outer = std::max(box_.rank() - 1, 0);
  const int64_t row = box_.rank() == 0 ? 1 : box_[outer];
  for (int64_t index = 0; index * row < box_.numel(); ++index) {
    int64_t rest = index;
    int64_t element = 0;
    for (int axis = outer - 1; axis >= 0; --axis) {
      element += rest % box_[axis] * x_strides_[axis];
      rest /= box_[axis];
    }
    context.device_context().CopyOnDevice(
        static_cast<char*>(to) + index * row * element_size,
        static_cast<const char*>(from) + element * element_size,
        row * element_size);
  }
}

REGISTER_OP_CPU_KERNEL(crop, EstimatedBy<&PickingWork>, CropAnyKernel);
REGISTER_OP_CPU_KERNEL(crop_grad,
                       CropGradKernel<CPUDeviceContext, FloatAndHalfTypes>);

}  // namespace sluice
