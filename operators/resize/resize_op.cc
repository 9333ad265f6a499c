#include <algorithm>
#include <cmath>
#include <type_traits>

#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/resize/resize_axis.h"
#include "sluice/operators/resize/resize_passes.h"
#include "sluice/operators/usual_shapes.h"
#include "sluice/platform/dtype.h"

namespace sluice {
namespace {

using Doubles = std::vector<double>;

bool Crops(const InferShapeContext& context) {
  return context.Attr<std::string>("coordinate_transformation_mode") ==
         "tf_crop_and_resize";
}

// Checks the conditions that do not depend on shapes.
void CheckAttributes(const InferShapeContext& context) {
  const Ints& sizes = context.Attr<Ints>("sizes");
  const Doubles& scales = context.Attr<Doubles>("scales");
  for (size_t i = 0; i < sizes.size(); ++i) {
    context.Require(sizes[i] >= 0, "resize.negative",
                    "sizes[{}] = {}; expected a size", i, sizes[i]);
  }
  for (size_t i = 0; i < scales.size(); ++i) {
    context.Require(std::isfinite(scales[i]) && scales[i] > 0, "resize.scale",
                    "scales[{}] = {}; expected a number above 0", i, scales[i]);
  }
  const auto& mode = context.Attr<std::string>("mode");
  context.Require(std::isfinite(context.Attr<double>("cubic_coeff_a")),
                  "resize.cubic_coeff_a",
                  "attribute cubic_coeff_a = {}; expected a finite number",
                  context.Attr<double>("cubic_coeff_a"));
  const DType dtype = context.input_dtype("X");
  const bool crops = Crops(context);
  context.Require((mode == "nearest" && !crops) || IsFloating(dtype),
                  "resize.integers",
                  "mode {}{} makes new numbers, which {} cannot hold; expected "
                  "floats, or mode nearest",
                  mode, crops ? " of tf_crop_and_resize" : "", dtype);
  for (const double bound : context.Attr<Doubles>("roi")) {
    context.Require(std::isfinite(bound), "resize.roi",
                    "attribute roi has {}; expected finite numbers", bound);
  }
}

// Returns Out's size along axis `i`, which has `size` elements; -1 if unknown.
int64_t OutSize(const InferShapeContext& context, int i, int64_t size) {
  const DDim x = context.input("X");
  const Ints& sizes = context.Attr<Ints>("sizes");
  const Doubles& scales = context.Attr<Doubles>("scales");
  int64_t out = kUnknownDim;
  if (!sizes.empty()) {
    out = sizes[i];
  } else if (size >= 0) {
    const double exact = ResizedSize(size, scales[i]);
    context.Require(exact < std::ldexp(1, 63), "resize.overflow",
                    "scales[{}] = {} makes dim {} of input X {} longer than 64 "
                    "bits hold",
                    i, scales[i], i, x);
    out = static_cast<int64_t>(exact);
  }
  context.Require(size <= 0 || out != 0, "resize.nothing",
                  "dim {} of input X {} would have no elements; expected 1 or "
                  "more",
                  i, x);
  context.Require(size != 0 || out == 0, "resize.from_nothing",
                  "dim {} of input X {} has no elements to make {} of", i, x,
                  out);
  return out;
}

DDim ResizedDims(const InferShapeContext& context) {
  CheckAttributes(context);
  const DDim x = context.input("X");
  const size_t sizes = context.Attr<Ints>("sizes").size();
  const size_t scales = context.Attr<Doubles>("scales").size();
  if (!x.rank_known()) return x;
  const auto rank = static_cast<size_t>(x.rank());
  context.Require(
      rank == 0 || sizes + scales > 0, "resize.none",
      "attributes sizes and scales are empty; expected one of them");
  context.Require(
      (sizes == rank || sizes == 0) && (scales == rank || scales == 0),
      "resize.entries",
      "attribute sizes has {} entries and scales {}; expected one "
      "for each dim of input X {}, or none",
      sizes, scales, x);
  const size_t bounds = context.Attr<Doubles>("roi").size();
  context.Require(Crops(context) ? bounds == 2 * rank : bounds == 0,
                  "resize.roi_entries",
                  "attribute roi has {} entries; expected a start for each dim "
                  "of input X {}, and then an end for each, for "
                  "tf_crop_and_resize, else none",
                  bounds, x);
  DDim out = x;
  for (int i = 0; i < x.rank(); ++i) {
    out[i] = OutSize(context, i, x[i]);
  }
  return out;
}

// Sets Out to unknown sizes with X's rank.
void ResizeLateShape(InferShapeContext& context) {
  DDim out = context.input("X");
  for (int i = 0; i < out.rank(); ++i) {
    out[i] = kUnknownDim;
  }
  context.SetOutput("Out", out);
}

void ResizeAttributes(OpSchema& op) {
  op.Attr<Ints>("sizes", "The sizes of Out, one for each dim.").Default(Ints());
  op.Attr<Doubles>("scales",
                   "By how much each dim of Out is longer than that of X. "
                   "Without sizes Out has size * scale elements, rounded down. "
                   "Left out: the size of Out / that of X.")
      .Default(Doubles());
  op.Attr<std::string>("mode",
                       "What an element is made of: nearest: one of X; linear: "
                       "the two around it, along each dim; cubic: four.")
      .Default(std::string("nearest"))
      .OneOf({"nearest", "linear", "cubic"});
  op.Attr<std::string>(
        "coordinate_transformation_mode",
        "Where element j of Out lies in X: half_pixel: at (j + 0.5) / scale - "
        "0.5; half_pixel_symmetric: the same, with the middle of Out at that "
        "of X; pytorch_half_pixel: the same, but 0 for one element; "
        "align_corners: at j * (size - 1) / (size * scale - 1); asymmetric: at "
        "j / scale; tf_crop_and_resize: from (size - 1) * start to (size - 1) "
        "* end of attribute roi, in equal steps.")
      .Default(std::string("half_pixel"))
      .OneOf({"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
              "align_corners", "asymmetric", "tf_crop_and_resize"});
  op.Attr<std::string>("nearest_mode",
                       "How positions between two elements are rounded, for "
                       "mode nearest; prefer: those in the middle.")
      .Default(std::string("round_prefer_floor"))
      .OneOf({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  op.Attr<double>("cubic_coeff_a",
                  "The slope of the cubic convolution at distance 1: -0.75 as "
                  "in PyTorch, -0.5 as in TensorFlow.")
      .Default(-0.75);
  op.Attr<bool>("exclude_outside",
                "Whether weights of elements outside of X are 0, and the "
                "others are divided by their sum; else the nearest element of "
                "X stands for those outside.")
      .Default(false);
  op.Attr<bool>("antialias",
                "Whether weights of modes linear and cubic reach 1 / scale as "
                "far along dims that become shorter, so that all elements of X "
                "count.")
      .Default(false);
  op.Attr<Doubles>("roi",
                   "For tf_crop_and_resize: the start of each dim, then the "
                   "end of each; 0 is the first element and 1 the last one.")
      .Default(Doubles());
  op.Attr<double>("extrapolation_value",
                  "Elements of Out that tf_crop_and_resize places outside of "
                  "X.")
      .Default(0.0);
  op.DimAttribute("sizes").DimAttribute("scales").DimAttribute("roi");
}

void ResizeSchema(OpSchema& op) {
  op.Doc(
      "X with other sizes, by interpolation along each dim: up- and "
      "downsampling of images. Numbers are those of ONNX's operator Resize. An "
      "element of X whose weight is 0 does "
      "not count, even if it is NaN or infinite.");
  op.TypeVar("T", NumericDTypes());
  op.Input("X", "T", "A tensor of any shape; floats, or any for nearest.");
  op.Output("Out", "T", "In the rank of X.");
  ResizeAttributes(op);
  op.TypeVar("S", IndexDTypes());
  op.TypeVar("F", {DType::kFloat32, DType::kFloat64});
  op.Operand("Sizes", "sizes", "S", "Attribute sizes as a vector.");
  op.Operand("Scales", "scales", "F", "Attribute scales as a vector.");
  op.Operand("Roi", "roi", "F", "Attribute roi as a vector.");
  op.InferShape(OutShape<ResizedDims>).InferLateShape(ResizeLateShape);
}

constexpr GradientOp kResizeGrad = {
    .forward = ResizeSchema,
    .doc =
        "The gradient of resize: that of each element of X is the sum over the "
        "elements of Out that it is part of, by its weights there.",
    .inputs = {ShapeOf("X")},
    .dims = ResizedDims};

ResizeMode ModeOf(const std::string& name) {
  if (name == "linear") return ResizeMode::kLinear;
  return name == "cubic" ? ResizeMode::kCubic : ResizeMode::kNearest;
}

ResizeCoordinates CoordinatesOf(const std::string& name) {
  if (name == "half_pixel") return ResizeCoordinates::kHalfPixel;
  if (name == "half_pixel_symmetric") {
    return ResizeCoordinates::kHalfPixelSymmetric;
  }
  if (name == "pytorch_half_pixel") return ResizeCoordinates::kPytorchHalfPixel;
  if (name == "tf_crop_and_resize") return ResizeCoordinates::kCropAndResize;
  return name == "align_corners" ? ResizeCoordinates::kAlignCorners
                                 : ResizeCoordinates::kAsymmetric;
}

ResizeRounding RoundingOf(const std::string& name) {
  if (name == "round_prefer_floor") return ResizeRounding::kPreferFloor;
  if (name == "round_prefer_ceil") return ResizeRounding::kPreferCeil;
  return name == "floor" ? ResizeRounding::kFloor : ResizeRounding::kCeil;
}

}  // namespace

double ResizedSize(int64_t size, double scale) {
  const double exact = static_cast<double>(size) * scale;
  const double above = std::ceil(exact);
  // 2^-24 is half a unit in the last place of a float32.
  const bool rounded = above - exact <= exact * std::ldexp(1, -24);
  return rounded && above < std::ldexp(1, 23) ? above : std::floor(exact);
}

std::vector<ResizeAxis> ResizeAxesOf(const KernelQuery& query,
                                     const DDim& x,
                                     const DDim& out) {
  const auto& scales = query.Attr<std::vector<double>>("scales");
  ResizeAxis common;
  common.mode = ModeOf(query.Attr<std::string>("mode"));
  common.coordinates =
      CoordinatesOf(query.Attr<std::string>("coordinate_transformation_mode"));
  common.rounding = RoundingOf(query.Attr<std::string>("nearest_mode"));
  common.cubic_a = query.Attr<double>("cubic_coeff_a");
  common.exclude_outside = query.Attr<bool>("exclude_outside");
  common.antialias = query.Attr<bool>("antialias");
  common.outside = query.Attr<double>("extrapolation_value");
  const auto& roi = query.Attr<std::vector<double>>("roi");
  std::vector<ResizeAxis> axes(static_cast<size_t>(x.rank()), common);
  for (int i = 0; i < x.rank(); ++i) {
    ResizeAxis& axis = axes[i];
    axis.in = x[i];
    axis.out = out[i];
    const auto in = static_cast<double>(x[i]);
    axis.length = static_cast<double>(out[i]);
    axis.scale = axis.length / in;
    axis.sized = scales.empty();
    if (!roi.empty()) {
      axis.start = roi[i];
      axis.end = roi[x.rank() + i];
    }
    if (!scales.empty()) {
      axis.scale = scales[i];
      axis.length = in * axis.scale;
    }
  }
  return axes;
}

namespace {

// Returns the axes for kernels with a table for each axis. Rejects longer axes,
// whose tables would take gigabytes.
std::vector<ResizeAxis> ShortAxesOf(const KernelQuery& query,
                                    const DDim& x,
                                    const DDim& out) {
  constexpr int64_t kLongest = int64_t{1} << 24;
  std::vector<ResizeAxis> axes = ResizeAxesOf(query, x, out);
  for (size_t i = 0; i < axes.size(); ++i) {
    SLUICE_ENFORCE(
        axes[i].Identity() || std::max(axes[i].in, axes[i].out) <= kLongest,
        ErrorCode::kUnimplemented, "resize.long_axis",
        "dim {} of X {} becomes {}; there are kernels for up to {} "
        "elements along a dim",
        i, x, axes[i].out, kLongest);
  }
  return axes;
}

// The type in which T is summed, forward.
template <typename T>
using Accumulated =
    std::conditional_t<std::is_same_v<T, double>, double, float>;

template <typename T>
class ResizeKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    out_dims_ = query.outputs[0];
    if (out_dims_.numel() == 0) return;
    const auto axes = ShortAxesOf(query, query.inputs[0], out_dims_);
    nearest_ = axes.empty() ||
               (axes[0].mode == ResizeMode::kNearest &&
                axes[0].coordinates != ResizeCoordinates::kCropAndResize);
    if (nearest_) {
      copy_ = ResizeCopy(axes);
      return;
    }
    passes_ = ResizePasses(axes, /*backward=*/false);
    preparation.scratch_bytes =
        static_cast<size_t>(passes_.scratch_elements()) *
        sizeof(Accumulated<T>);
  }

  void Compute(OpKernelContext& context) const override {
    T* const out = context.AllocateOutput(0, out_dims_).template data<T>();
    if (out_dims_.numel() == 0) return;
    const T* x = context.Input(0).template data<T>();
    if (nearest_) return copy_.Run(x, sizeof(T), out);
    if constexpr (std::is_floating_point_v<T> || kIsHalf<T>) {
      passes_.Run(x, static_cast<Accumulated<T>*>(context.scratch()), out);
    }
  }

 private:
  DDim out_dims_;
  bool nearest_ = true;
  ResizeCopy copy_;
  ResizePasses passes_;
};

// X only provides the shape.
template <typename T>
class ResizeGradKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    x_dims_ = query.inputs[0];
    if (x_dims_.numel() == 0) return;
    passes_ = ResizePasses(ShortAxesOf(query, x_dims_, query.inputs[1]),
                           /*backward=*/true);
    preparation.scratch_bytes =
        static_cast<size_t>(passes_.scratch_elements()) * sizeof(double);
  }

  void Compute(OpKernelContext& context) const override {
    T* const to = context.AllocateOutput(0, x_dims_).template data<T>();
    if (x_dims_.numel() == 0) return;
    passes_.Run(context.Input(1).template data<T>(),
                static_cast<double*>(context.scratch()), to);
  }

 private:
  DDim x_dims_;
  ResizePasses passes_;
};

}  // namespace

REGISTER_OPERATOR(resize, WithGradient<kResizeGrad>);
REGISTER_OPERATOR(resize_grad, GradientSchema<kResizeGrad>);
REGISTER_OP_CPU_KERNEL(resize, ResizeKernel<NumberTypes>);
REGISTER_OP_CPU_KERNEL(resize_grad, ResizeGradKernel<FloatAndHalfTypes>);

}  // namespace sluice
