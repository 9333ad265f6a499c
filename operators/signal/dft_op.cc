#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"

namespace sluice {
namespace {

constexpr int64_t kLongest = int64_t{1} << 24;

// Returns the shape of Out.
DDim TransformedDims(const InferShapeContext& context) {
  const auto x = context.WithRankAtLeast(context.input("X"), 2);
  DDim out = x.dims;
  if (!out.rank_known()) return out;
  const int last = out.rank() - 1;
  context.Require(out[last] == 1 || out[last] == 2 || out[last] < 0,
                  "dft.parts",
                  "the last dim of input X {} is {}; expected 1 (real numbers) "
                  "or 2 (real and imaginary parts)",
                  x.dims, out[last]);
  auto axis = context.Attr<int64_t>("axis");
  context.Require(axis >= -out.rank() && axis < last && axis != -1, "dft.axis",
                  "attribute axis = {}; expected a dim of input X {} before "
                  "the last: from {} to {}",
                  axis, x.dims, -out.rank(), last - 1);
  if (axis < 0) axis += out.rank();
  const auto at = static_cast<int>(axis);
  const bool inverse = context.Attr<bool>("inverse");
  const bool onesided = context.Attr<bool>("onesided");
  auto length = context.Attr<int64_t>("dft_length");
  if (length == 0 && out[at] >= 0) {
    // The size is saturated, so that nothing overflows.
    const int64_t size = out[at] > kLongest ? kLongest + 1 : out[at];
    length = inverse && onesided ? 2 * (size - 1) : size;
    context.Require(length >= 1 && length <= kLongest, "dft.size",
                    "dim {} of input X {} gives transforms of {} elements; "
                    "expected 1 to {}",
                    at, x.dims, length, kLongest);
  }
  context.Require(length >= 0 && length <= kLongest, "dft.length",
                  "attribute dft_length = {}; expected 1 to {}, or 0 for the "
                  "size of X",
                  length, kLongest);
  out[last] = inverse && onesided ? 1 : 2;
  out[at] = onesided && !inverse ? length / 2 + 1 : length;
  if (length == 0) out[at] = kUnknownDim;
  return out;
}

// Sets Out to unknown sizes with X's rank.
void DftLateShape(InferShapeContext& context) {
  DDim out = context.input("X");
  for (int i = 0; i < out.rank(); ++i) {
    out[i] = kUnknownDim;
  }
  context.SetOutput("Out", out);
}

void DftSchema(OpSchema& op) {
  op.Doc(
      "The discrete Fourier transform along a dim: Out[k] = the sum over j of "
      "X[j] * exp(-2 pi i j k / length); inverse: with exp(2 pi i j k / "
      "length), divided by length. A line with a NaN or an infinity gives NaN "
      "everywhere.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("X", "T",
           "[..., 2], real and imaginary parts, or [..., 1], real numbers.");
  op.Output("Out", "T",
            "[..., 2], or [..., 1] for an inverse transform that is onesided.");
  op.Attr<int64_t>("axis",
                   "The dim along which the transform is; a negative one "
                   "counts from the end, where the last one is that of parts.")
      .Default(int64_t{-2});
  op.Attr<bool>("inverse", "Whether it is the inverse transform.")
      .Default(false);
  op.Attr<bool>("onesided",
                "Only the first length / 2 + 1 of the transform are given, or "
                "used by the inverse one, which then gives real numbers.")
      .Default(false);
  op.Attr<int64_t>("dft_length",
                   "The length of the transform: X is cut, or zeros are added. "
                   "0: the size of X, or 2 * (size - 1) for an inverse "
                   "transform that is onesided.")
      .Default(int64_t{0});
  op.TypeVar("S", IndexDTypes()).TypeVar("A", IndexDTypes());
  op.Operand("DftLength", "dft_length", "S",
             "Attribute dft_length as one element.");
  op.Operand("Axis", "axis", "A", "Attribute axis as one element.");
  op.InferShape(OutShape<TransformedDims>).InferLateShape(DftLateShape);
}

constexpr GradientOp kDftGrad = {
    .forward = DftSchema,
    .doc =
        "The gradient of dft: the other transform of Out@GRAD, times its "
        "length (divided by it for inverse), cut to the size of X. A line with "
        "a NaN or an infinity gives NaN.",
    .inputs = {ShapeOf("X")},
    .dims = TransformedDims};

}  // namespace

REGISTER_OPERATOR(dft, WithGradient<kDftGrad>);
REGISTER_OPERATOR(dft_grad, GradientSchema<kDftGrad>);

}  // namespace sluice
